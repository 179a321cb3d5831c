"""Enforces the limits that a stage process cannot set on itself: by the kernel, or by the stage's owner."""

from __future__ import annotations

import logging
from dataclasses import replace

from hearth.isolation.control_group import ControlGroup, delegated_group
from hearth.isolation.stage_process import StageProcess
from hearth.isolation.stage_watch import Watch
from hearth_stage.limit import Limits

log = logging.getLogger(__name__)


class Enforcement:
    """Enforces the memory and processor limits of a stage process from before its start until after its end."""

    def __init__(self, limits: Limits) -> None:
        """Create the control group, if there is one to create."""
        self.excess = ""
        """Which limit the process exceeded, if it was killed for that."""
        self._group = _group(limits) if limits.are_enforced else None
        self._watch: Watch | None = None
        self.limits = limits if self._group is None else replace(limits, control_group=str(self._group.path))
        """The limits that the process sets on itself."""

    def begin(self, process: StageProcess) -> None:
        """Start to enforce the limits on a running process."""
        if self.limits.are_enforced and self._group is None:
            self._watch = Watch(process.pid, self.limits, lambda excess: self._end(process, excess))

    def rest(self) -> None:
        """Stop watching, so that the process can shut down cleanly."""
        if self._watch is not None:
            self._watch.end()

    def end(self) -> None:
        """Release everything after the process has ended or did not start; may be called again."""
        self.rest()
        if self._group is not None:
            self.excess = self.excess or self._group.excess
            self._group.remove()

    def _end(self, process: StageProcess, excess: str) -> None:
        self.excess = excess
        process.end(grace=0)


def _group(limits: Limits) -> ControlGroup | None:
    """Create a control group; None where none can be created, which is the usual case."""
    if (delegated := delegated_group()) is None:
        return None
    try:
        return ControlGroup(delegated, limits)
    except OSError as error:
        log.warning("cannot create a control group in %s, watching the stage instead: %s", delegated, error.strerror)
        return None
