"""The tasks of all connectors: started, stopped and told apart by what they report."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Iterable, Sequence

from hearth.herder.pipeline import TaskPlan
from hearth.herder.seat import TaskEvent
from hearth.herder.status import StatusBoard
from hearth.herder.task import CommandLine, TaskRun
from hearth.runtime.launcher import Launcher
from hearth.storage import State

log = logging.getLogger(__name__)


class Crew:
    """Every task that was started and not stopped.

    Tasks of one connector are started and stopped on that connector's lane. Reports come from other threads
    at any time.
    """

    def __init__(self, launcher: Launcher, link: CommandLine, board: StatusBoard, graceful_seconds: float) -> None:
        self._launcher = launcher
        self._link = link
        self._board = board
        self._graceful_seconds = graceful_seconds
        self._generations = itertools.count()
        self._lock = threading.Lock()
        self._tasks: dict[tuple[str, int], TaskRun] = {}
        self._is_closed = False

    def start(self, plans: Iterable[TaskPlan], paused: bool) -> None:
        """Launch tasks, unless all were stopped for good."""
        for plan in plans:
            run = TaskRun(plan, self._launcher, self._link, self._board, self._generations)
            with self._lock:
                if self._is_closed:
                    return
                self._tasks[plan.connector, plan.task] = run
            run.start(paused)

    def of(self, connector: str) -> list[TaskRun]:
        """Return the tasks of a connector in the order of their numbers."""
        with self._lock:
            mine = [run for (name, _), run in self._tasks.items() if name == connector]
        return sorted(mine, key=lambda run: run.number)

    def stop(self, connector: str, numbers: Sequence[int] | None = None, are_followed: bool = False) -> None:
        """Stop tasks of a connector, all unless some are named, and wait until they have ended.

        Where others are started right away, ``are_followed``, they leave to those what they share with them.
        """
        self._stop([run for run in self.of(connector) if numbers is None or run.number in numbers], are_followed)

    def stop_all(self) -> None:
        """Stop every task, wait until they have ended, and start no more."""
        with self._lock:
            self._is_closed = True
            everyone = list(self._tasks.values())
        self._stop(everyone)

    def pause(self, connector: str, paused: bool) -> None:
        """Let the tasks of a connector rest or go on."""
        for run in self.of(connector):
            run.pause(paused)

    def on_event(self, event: TaskEvent) -> None:
        """Pass what the link heard on to the task it is about."""
        with self._lock:
            run = self._tasks.get((event.connector, event.task))
        if run is None:
            return
        if event.kind == "lost":
            run.on_lost_link(event.generation)
        elif event.state is not None:
            run.on_status(event.generation, State(event.state), event.trace)

    def _stop(self, runs: Sequence[TaskRun], are_followed: bool = False) -> None:
        """Let tasks drain, all in one span of time, and end by force those that do not (Invariant 8)."""
        for run in runs:
            run.begin_stop(is_followed=are_followed)
        deadline = time.monotonic() + self._graceful_seconds
        for run in runs:
            if not run.await_stop(deadline):
                log.warning(
                    "task %s-%d did not end within task.shutdown.graceful.timeout.ms and was cut off",
                    run.plan.connector, run.number,
                )  # fmt: skip
        with self._lock:
            for run in runs:
                if self._tasks.get((run.plan.connector, run.number)) is run:
                    del self._tasks[run.plan.connector, run.number]
