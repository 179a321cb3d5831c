"""Detects a source stage that does not return from a poll."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future

from hearth.isolation.stage import Stage
from hearth_stage.plugin_call import Ping

PING_SECONDS = 1.0
"""Shortest time between pings of a stage; longer if the time limit is long."""
PING_SHARE = 10
PING_EARLY = 0.1
"""How much earlier a stage is pinged, as a share of the interval, when the loop is awake anyway."""


class PollWatch:
    """Pings a stage regularly and raises if one poll takes longer than ``limit`` seconds.

    Only its owner's thread may use it.
    """

    def __init__(self, stage: Stage, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._stage, self._limit, self._clock = stage, limit, clock
        self._seconds = max(PING_SECONDS, limit / PING_SHARE)
        self._ping: tuple[float, Future[None]] | None = None

    def step(self) -> None:
        """Send a ping if it is due; raises if the stage has not answered one within the limit."""
        now = self._clock()
        if self._ping is None or self._ping[1].done():
            if now >= self.due - PING_EARLY * self._seconds:
                self._ping = (now, self._stage.begin(Ping()))
        elif now >= self.due:
            raise self._stage.timed_out("poll", self._limit)

    @property
    def due(self) -> float:
        """Return when the next ping is due, or the answer to the current one."""
        if self._ping is None:
            return -math.inf
        sent, answer = self._ping
        return sent + (self._seconds if answer.done() else self._limit)
