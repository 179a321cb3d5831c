"""Tasks that failed and restart themselves."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from hearth.config.restart_key import TaskRestartConfig

log = logging.getLogger(__name__)


class RestartTimer(Protocol):
    """Something that is to happen later, unless it is called off."""

    def cancel(self) -> None:
        """Call it off; it may be happening just now."""


def ring_later(seconds: float, act: Callable[[], None]) -> RestartTimer:
    """Do something on a thread of its own after so many seconds."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer


@dataclass
class _Task:
    """What is known of a task since somebody, and not it itself, had it begin."""

    settings: TaskRestartConfig
    restarts: int = 0
    running_since: float | None = None
    alarm: RestartTimer | None = None
    is_due: bool = False


class TaskRestarts:
    """Says when tasks of one connector that failed are to begin again by themselves.

    It restarts nothing: when a pause is over it has the connector reconciled, which begins what is ``due`` then, in
    the order of everything else that happens to the connector. What somebody has done to a task before, be it that it
    was restarted, replaced, stopped or deleted, has called that off. Safe to call from any thread.
    """

    def __init__(
        self,
        connector: str,
        reconcile: Callable[[], None],
        later: Callable[[float, Callable[[], None]], RestartTimer] = ring_later,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connector, self._reconcile, self._later, self._clock = connector, reconcile, later, clock
        self._lock = threading.Lock()
        self._tasks: dict[int, _Task] = {}

    def begin(self, task: int, settings: TaskRestartConfig, *, by_itself: bool) -> None:
        """Take note that a task is launched; where not by itself, its restarts are counted anew."""
        with self._lock:
            self._call_off(task)
            if not by_itself or task not in self._tasks:
                self._tasks[task] = _Task(settings)

    def call_off(self, tasks: Collection[int]) -> None:
        """Let tasks be: somebody ended them, or is about to."""
        with self._lock:
            for task in tasks:
                self._call_off(task)

    def running(self, task: int) -> None:
        """Take note that a task runs or rests."""
        with self._lock:
            if (known := self._tasks.get(task)) is not None and known.running_since is None:
                known.running_since = self._clock()

    def failed(self, task: int) -> None:
        """Take note that a task failed, and have it restarted in a while, where it may still be."""
        with self._lock:
            known = self._tasks.get(task)
            if known is None or known.alarm is not None or known.is_due:
                return
            if self._has_run_long(known):
                known.restarts = 0
            known.running_since = None
            delay = known.settings.delay(known.restarts)
            name, most = f"{self._connector}-{task}", known.settings.task_restart_max
            if delay is None:
                if most:
                    log.error("task %s was restarted by itself %d times in a row, and stays FAILED now", name, most)
                return
            known.restarts += 1
            which = f"{known.restarts}" if most < 0 else f"{known.restarts} of at most {most}"
            log.warning("task %s restarts by itself in %g s: restart %s in a row", name, delay, which)
            number = known.restarts
            known.alarm = self._later(delay, lambda: self._ring(task, known, number))

    def due(self) -> set[int]:
        """Return the tasks whose pause is over."""
        with self._lock:
            return {task for task, known in self._tasks.items() if known.is_due}

    def _ring(self, task: int, known: _Task, number: int) -> None:
        with self._lock:
            if known.alarm is None or known.restarts != number or self._tasks.get(task) is not known:
                return  # it was called off meanwhile
            known.alarm, known.is_due = None, True
        self._reconcile()

    def _call_off(self, task: int) -> None:
        known = self._tasks.get(task)
        if known is None:
            return
        if known.alarm is not None:
            known.alarm.cancel()
        known.alarm, known.is_due, known.running_since = None, False, None

    def _has_run_long(self, known: _Task) -> bool:
        longest = known.settings.task_restart_backoff_max_ms / 1000
        return known.running_since is not None and self._clock() - known.running_since >= longest
