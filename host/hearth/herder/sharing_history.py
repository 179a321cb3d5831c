"""Decides whether a connector or task may share processes, from how its runs ended in shared ones."""

from __future__ import annotations

import logging
from dataclasses import dataclass

log = logging.getLogger(__name__)

MOST_LOSSES = 2
"""Unexplained losses of a shared process after which a tenant gets its own."""


@dataclass
class SharingHistory:
    """The record of a connector's instances, or a task's runs, in shared processes under one configuration."""

    is_apart: bool = False
    """Whether the next run gets its own process."""
    losses: int = 0
    whose: str = "the connector"

    def lost(self, is_known: bool) -> None:
        """Record that a shared process ended; ``is_known`` if a pending call identifies the tenant to blame."""
        self.losses += not is_known
        if self.losses >= MOST_LOSSES:
            self.set_apart("the processes that it shared have ended repeatedly")

    def set_apart(self, reason: str) -> None:
        """Use no shared process until the configuration changes.

        The reason is logged, so it must not quote a plugin, whose text may contain secrets.
        """
        if not self.is_apart:
            self.is_apart = True
            log.warning("%s runs in its own process from now on: %s", self.whose, reason)
