"""Automatic restarts of failed tasks."""

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
    """A scheduled action that can be cancelled."""

    def cancel(self) -> None:
        """Cancel the action, which may be running already."""


def run_later(seconds: float, act: Callable[[], None]) -> RestartTimer:
    """Run an action on its own thread after a delay."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer


@dataclass
class _Task:
    """The restart state of a task since its last manual start."""

    settings: TaskRestartConfig
    restarts: int = 0
    running_since: float | None = None
    timer: RestartTimer | None = None
    is_due: bool = False


class TaskRestarts:
    """Schedules the automatic restarts of one connector's failed tasks.

    It restarts nothing itself: after the backoff it has the connector reconciled, which starts the ``due`` tasks in
    order with everything else on the connector's queue. Restarting, replacing, stopping or deleting a task cancels its
    scheduled restart. Thread-safe.
    """

    def __init__(
        self,
        connector: str,
        reconcile: Callable[[], None],
        later: Callable[[float, Callable[[], None]], RestartTimer] = run_later,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connector, self._reconcile, self._later, self._clock = connector, reconcile, later, clock
        self._lock = threading.Lock()
        self._tasks: dict[int, _Task] = {}

    def begin(self, task: int, settings: TaskRestartConfig, *, by_itself: bool) -> None:
        """Record that a task is launched; reset its restart count unless this is an automatic restart."""
        with self._lock:
            self._cancel(task)
            if not by_itself or task not in self._tasks:
                self._tasks[task] = _Task(settings)

    def cancel(self, tasks: Collection[int]) -> None:
        """Cancel the restarts of tasks that have been stopped or soon will be."""
        with self._lock:
            for task in tasks:
                self._cancel(task)

    def running(self, task: int) -> None:
        """Record that a task is running or paused."""
        with self._lock:
            if (known := self._tasks.get(task)) is not None and known.running_since is None:
                known.running_since = self._clock()

    def failed(self, task: int) -> None:
        """Record that a task failed, and schedule its restart if its limit allows one."""
        with self._lock:
            known = self._tasks.get(task)
            if known is None or known.timer is not None or known.is_due:
                return
            if self._has_run_long(known):
                known.restarts = 0
            known.running_since = None
            delay = known.settings.delay(known.restarts)
            name, most = f"{self._connector}-{task}", known.settings.task_restart_max
            if delay is None:
                if most:
                    log.error("task %s was restarted %d times in a row and stays FAILED", name, most)
                return
            known.restarts += 1
            which = f"{known.restarts}" if most < 0 else f"{known.restarts} of at most {most}"
            log.warning("task %s restarts in %g s: restart %s in a row", name, delay, which)
            number = known.restarts
            known.timer = self._later(delay, lambda: self._on_timer(task, known, number))

    def due(self) -> set[int]:
        """Return the tasks whose backoff is over."""
        with self._lock:
            return {task for task, known in self._tasks.items() if known.is_due}

    def _on_timer(self, task: int, known: _Task, number: int) -> None:
        with self._lock:
            if known.timer is None or known.restarts != number or self._tasks.get(task) is not known:
                return  # cancelled meanwhile
            known.timer, known.is_due = None, True
        self._reconcile()

    def _cancel(self, task: int) -> None:
        known = self._tasks.get(task)
        if known is None:
            return
        if known.timer is not None:
            known.timer.cancel()
        known.timer, known.is_due, known.running_since = None, False, None

    def _has_run_long(self, known: _Task) -> bool:
        longest = known.settings.task_restart_backoff_max_ms / 1000
        return known.running_since is not None and self._clock() - known.running_since >= longest
