"""Sees that a source's stage comes back from its polls."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future

from hearth.isolation.stage import Stage
from hearth_stage.plugin_call import Ping

PING_SECONDS = 1.0
"""How often a stage is asked, at most, whether it has come back from a poll; where that may take long, less often."""
PING_SHARE = 10
PING_EARLY = 0.1
"""A stage is asked earlier, by this share of the time between two questions, where the loop is awake anyway."""


class PollWatch:
    """Asks a stage now and then, and raises when one poll takes longer than a call may: in ``limit`` seconds.

    Nobody but its owner's thread may use it.
    """

    def __init__(self, stage: Stage, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._stage, self._limit, self._clock = stage, limit, clock
        self._seconds = max(PING_SECONDS, limit / PING_SHARE)
        self._ping: tuple[float, Future[None]] | None = None

    def step(self) -> None:
        """Ask, if that is due; raises when the stage has not come back for the longest time a call may take."""
        now = self._clock()
        if self._ping is None or self._ping[1].done():
            if now >= self.due - PING_EARLY * self._seconds:
                self._ping = (now, self._stage.begin(Ping()))
        elif now >= self.due:
            raise self._stage.timed_out("poll", self._limit)

    @property
    def due(self) -> float:
        """Return when the stage is to be asked again, or must have answered."""
        if self._ping is None:
            return -math.inf
        sent, answer = self._ping
        return sent + (self._seconds if answer.done() else self._limit)
