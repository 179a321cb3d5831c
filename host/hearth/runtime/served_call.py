"""Calls of a task's stage that a loop waits for while it serves its event queue."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from hearth.isolation.stage import Stage
from hearth.runtime.event_queue import EventQueue, Item
from hearth.staging.plugin_plan import TaskSettings
from hearth_stage.call import Call

R = TypeVar("R")

LEAST_SECONDS = 1.0
"""What each step of an end has at least, however long the steps before it took."""


class ServedCalls:
    """Has the stage do something, and hands what arrives in the event queue meanwhile to who deals with it.

    A stop is among that, and bounds even the wait for a task that hangs: once the end has begun all calls together
    have no longer than ``task.shutdown.graceful.timeout.ms``.
    """

    def __init__(
        self,
        stage: Stage,
        event_queue: EventQueue,
        take: Callable[[Item], None],
        settings: TaskSettings,
        clock: Callable[[], float],
    ) -> None:
        """``take`` deals with what arrives, and may raise what ends the task."""
        self._stage, self._event_queue, self._take, self._settings, self._clock = (
            stage,
            event_queue,
            take,
            settings,
            clock,
        )
        self.end_by = math.inf
        """When the end is to be over, on the clock; infinite before it has begun."""

    def serve(self, seconds: float = 0.0) -> None:
        """Deal with what is in the event queue, waiting at most so long for the first of it."""
        for item in self._event_queue.take(seconds):
            self._take(item)

    def call(self, call: Call[R]) -> R:
        """Have the stage do something, and wait until it has."""
        return self.result(self.begin(call), call.op)

    def begin(self, call: Call[R]) -> Future[R]:
        """Have the stage do something, whose answer wakes who waits for the event queue."""
        answer = self._stage.begin(call)
        answer.add_done_callback(lambda _: self._event_queue.wake())
        return answer

    def result(self, answer: Future[R], op: str) -> R:
        """Wait for an answer, and return it."""
        self.wait(answer, op)
        return self._stage.result(answer, op)

    def wait(self, answer: Future[Any], op: str) -> None:
        """Wait for an answer; a task that hangs is killed, for it would do so again."""
        began = self._clock()
        give_up_at = began + self._settings.call_timeout
        while not answer.done():
            if (left := self.seconds_left()) is not None:
                give_up_at = min(give_up_at, self._clock() + left)
            if self._clock() >= give_up_at:
                error = self._stage.timed_out(op, give_up_at - began)
                self._stage.kill()
                raise error
            self.serve(give_up_at - self._clock())

    # The end --------------------------------------------------------------------------------------------------

    def begin_end(self) -> None:
        """Count from now on, where that has not begun, how long calls may take together."""
        if not self.is_ending:
            self.end_by = self._clock() + self._settings.graceful_timeout

    @property
    def is_ending(self) -> bool:
        """Return whether the end has begun."""
        return self.end_by < math.inf

    def seconds_left(self) -> float | None:
        """Return how long a call may take now that the end has begun; ``None`` before it has."""
        return max(LEAST_SECONDS, self.end_by - self._clock()) if self.is_ending else None
