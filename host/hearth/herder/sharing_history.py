"""How those behave who share processes: who lets down or is let down gets processes of his own."""

from __future__ import annotations

import logging
from dataclasses import dataclass

log = logging.getLogger(__name__)

MOST_LOSSES = 2
"""How often one may lose a shared process, nobody knows by whose doing, before he shares none any more."""


@dataclass
class SharingHistory:
    """How the instances of a connector, or the runs of a task, have behaved while its configuration was the same."""

    is_apart: bool = False
    """Whether the next has a process of its own."""
    losses: int = 0
    whose: str = "the connector"

    def lost(self, is_known: bool) -> None:
        """Take note that a shared process ended; ``is_known`` where somebody was asked something then, and blamed."""
        self.losses += not is_known
        if self.losses >= MOST_LOSSES:
            self.set_apart("the processes that it shared have ended again and again")

    def set_apart(self, reason: str) -> None:
        """Let it share no process until it is configured anew.

        The reason is logged, so it is nothing that a plugin has said: that may hold what is secret.
        """
        if not self.is_apart:
            self.is_apart = True
            log.warning("%s has a process of its own from now on: %s", self.whose, reason)
