"""How the limits of one stage are enforced that no process can bind itself to: by the kernel, or else by its owner."""

from __future__ import annotations

import logging
from dataclasses import replace

from hearth.isolation.control_group import ControlGroup, delegated_group
from hearth.isolation.stage_process import StageProcess
from hearth.isolation.stage_watch import Watch
from hearth_stage.limit import Limits

log = logging.getLogger(__name__)


class Enforcement:
    """What keeps a stage process to its limits of memory and processors, from before its start until after its end."""

    def __init__(self, limits: Limits) -> None:
        """Make what its process needs from its first moment on."""
        self.excess = ""
        """In which way the process took more than it may, which is why it was ended."""
        self._group = _group(limits) if limits.are_enforced else None
        self._watch: Watch | None = None
        self.limits = limits if self._group is None else replace(limits, control_group=str(self._group.path))
        """What the process is to bind itself to."""

    def begin(self, process: StageProcess) -> None:
        """Keep the process to its limits from now on."""
        if self.limits.are_enforced and self._group is None:
            self._watch = Watch(process.pid, self.limits, lambda excess: self._end(process, excess))

    def rest(self) -> None:
        """Let the process do what it has to for a good end."""
        if self._watch is not None:
            self._watch.end()

    def end(self) -> None:
        """Take note that the process has ended, or has never begun; may be told again."""
        self.rest()
        if self._group is not None:
            self.excess = self.excess or self._group.excess
            self._group.remove()

    def _end(self, process: StageProcess, excess: str) -> None:
        self.excess = excess
        process.end(grace=0)


def _group(limits: Limits) -> ControlGroup | None:
    """Make a control group; None where that cannot be had, which is the rule."""
    if (delegated := delegated_group()) is None:
        return None
    try:
        return ControlGroup(delegated, limits)
    except OSError as error:
        log.warning("no control group can be made in %s, the stage is watched instead: %s", delegated, error.strerror)
        return None
