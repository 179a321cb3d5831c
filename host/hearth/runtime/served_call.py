"""Calls to a task's stage during which the loop keeps serving its event queue."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from hearth.runtime.event_queue import Item
from hearth.runtime.task_services import TaskServices
from hearth.staging.plugin_plan import TaskSettings
from hearth_stage.call import Call, Notice

R = TypeVar("R")

LEAST_SECONDS = 1.0
"""Least seconds for each call after the stop, however long the calls before it took."""


class ServedCalls:
    """Calls the stage, and processes events that arrive during the call.

    A stop is such an event, and limits even the wait for a task that hangs: after it all calls together may take no
    longer than ``task.shutdown.graceful.timeout.ms``.
    """

    def __init__(self, services: TaskServices[Any], take: Callable[[Item], None], settings: TaskSettings) -> None:
        """``take`` processes an event, and may raise what ends the task."""
        self._stage, self._event_queue, self._clock = services.stage, services.event_queue, services.clock
        self._take, self._settings = take, settings
        self.end_by = math.inf
        """Deadline of the stop on the clock; infinite before it starts."""

    def serve(self, seconds: float = 0.0) -> None:
        """Process the events in the queue, waiting at most ``seconds`` for the first."""
        for item in self._event_queue.take(seconds):
            self._take(item)

    def call(self, call: Call[R]) -> R:
        """Call the stage and return the answer."""
        return self.result(self.begin(call), call.op)

    def notify(self, notice: Notice) -> None:
        """Send the stage a message that has no answer."""
        self._stage.notify(notice)

    def begin(self, call: Call[R]) -> Future[R]:
        """Start a call; its answer wakes a wait for the event queue."""
        answer = self._stage.begin(call)
        answer.add_done_callback(lambda _: self._event_queue.wake())
        return answer

    def result(self, answer: Future[R], op: str) -> R:
        """Wait for an answer, and return it."""
        self.wait(answer, op)
        return self._stage.result(answer, op)

    def wait(self, answer: Future[Any], op: str) -> None:
        """Wait for an answer; a task that hangs is killed, because it would hang again."""
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

    # Stopping -------------------------------------------------------------------------------------------------

    def begin_end(self) -> None:
        """Start the time limit for all further calls, unless it has started."""
        if not self.is_ending:
            self.end_by = self._clock() + self._settings.graceful_timeout

    @property
    def is_ending(self) -> bool:
        """Return whether the stop has started."""
        return self.end_by < math.inf

    def seconds_left(self) -> float | None:
        """Return how many seconds a call may take during the stop; ``None`` before it."""
        return max(LEAST_SECONDS, self.end_by - self._clock()) if self.is_ending else None
