"""Supervises one task on Spark."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from hearth.config.variable import Resolved
from hearth.foundation.log_context import about, label_of
from hearth.herder.sharing_history import SharingHistory
from hearth.herder.status import StatusBoard
from hearth.link.admission import LinkAddress
from hearth.link.heartbeat import FENCED_SECONDS
from hearth.link.task_counts import CHANGES
from hearth.metric.task_sensor import MeasuredTask
from hearth.metric.worker_metric import WorkerMetrics
from hearth.runtime.launcher import Launcher, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.storage import State
from hearth_stage.plugin_call import Metric

log = logging.getLogger(__name__)

LOSSES = 10
"""Consecutive losses after which a task is FAILED."""
SETTLED_SECONDS = 10.0
"""A run that lasted this long resets the count of losses."""
CANCEL_SECONDS = 5.0
"""Time that Spark has to report the end of a job whose process has ended."""


NO_WORD = "its executor ended it without a word"


class CommandLine(Protocol):
    """The host's channel to its tasks; implemented by `TaskLinkServer`."""

    def expect(
        self, plan: TaskPlan, generation: int, is_paused: bool, hidden: Callable[[str], str] = str
    ) -> LinkAddress:
        """Admit this generation of a task and no older one, and send it its plan.

        ``hidden`` removes secret values from what the task logs.
        """

    def command(self, connector: str, task: int, command: str) -> None:
        """Send a command now, or when the task connects."""

    def forget_topics(self, connector: str) -> None:
        """Have the tasks of a connector report again the topics they use."""

    def is_linked(self, connector: str, task: int) -> bool:
        """Return whether a run of a task is connected."""

    def await_end(self, connector: str, task: int, timeout: float) -> bool:
        """Wait until no run of a task that was connected can still be running; return whether that is certain."""

    def forget(self, connector: str, task: int) -> bool:
        """Admit no generation any more; return whether a run was connected."""


@dataclass(frozen=True)
class RunServices:
    """The services that start the runs of tasks, command them, record their states and measure them.

    Each run takes the next of ``generations``.
    """

    launcher: Launcher
    link: CommandLine
    board: StatusBoard
    generations: Iterator[int]
    metrics: WorkerMetrics = field(default_factory=WorkerMetrics)


class SupervisedTask:
    """A task from its first launch until it is stopped.

    A run that ends without a stop or a failure was lost with its executor. The task is relaunched at once under a new
    generation, so that the old run, if it still exists, can neither report nor commit. A failure that the task
    reported remains until the task is restarted.
    """

    def __init__(
        self,
        plan: TaskPlan,
        settings: Resolved,
        version: str | None,
        services: RunServices,
        clock: Callable[[], float] = time.monotonic,
        on_state: Callable[[State], None] = lambda state: None,
        sharing_history: SharingHistory | None = None,
    ) -> None:
        """``settings`` and ``version`` are those of the connector for which the task was planned.

        ``on_state`` is called with every new state, on any thread, and must not block. ``sharing_history`` records how
        its earlier runs behaved in shared processes, if its plan allows sharing.
        """
        self.plan = plan
        self.settings = settings
        self._version = version
        self._launcher, self._link, self._board = services.launcher, services.link, services.board
        self._generations = services.generations
        self._starts = services.metrics.task_starts
        self._metrics = services.metrics.task()
        self.history = services.metrics.histories.of(plan.connector, plan.task)
        self.measured = MeasuredTask(plan, self._metrics, self.history)
        self._on_state = on_state
        self._sharing_history = sharing_history or SharingHistory(whose="the task")
        self._clock = clock
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._generation = -1
        self._is_paused = False
        self._is_stopping = False
        self._is_starting = False
        self._is_moving = False
        self._has_failed = False
        self._launched_at = 0.0
        self._losses = 0

    @property
    def number(self) -> int:
        """Return the task's number."""
        return self.plan.task

    def start(self, paused: bool) -> None:
        """Launch the first run, unless a stop was requested before."""
        with self._lock:
            self._is_paused = paused
            if not self._is_stopping:
                self._launch()

    def pause(self, paused: bool) -> None:
        """Pause or resume the task; a run that has not started yet receives this when it does."""
        with self._lock:
            if paused is not self._is_paused:
                self._is_paused = paused
                self._notify()

    def move(self) -> bool:
        """Let the run drain and launch another, possibly on another executor; return whether it will.

        A task that is not connected or has failed is not moved. Does not wait for the end of the run.
        """
        task = (self.plan.connector, self.number)
        with self._lock:
            if self._is_over or self._has_failed or self._is_moving or not self._link.is_linked(*task):
                return False
            self._is_moving = True
            self._link.command(*task, "replace")
            return True

    def begin_stop(self, *, is_followed: bool = False) -> None:
        """Ask the task to drain and end; cancel a run that has not started.

        With ``is_followed`` the task learns that its successor starts at once (see ``Consumer.close``).

        A run starts when its link connects: from then on its plugin may be running, even before the first status. One
        that is unreachable may be running too, so it is cancelled and its end awaited.
        """
        with self._lock:
            self._is_stopping = True
            if self._ended.is_set():
                return
            task = (self.plan.connector, self.number)
            if self._link.is_linked(*task):
                self._link.command(*task, "replace" if is_followed else "stop")
                return
            if self._link.await_end(*task, 0) and not self._link.forget(*task):
                self._ended.set()  # it cannot connect any more, so it will never run
            self._launcher.cancel(*task)

    def await_stop(self, deadline: float) -> bool:
        """Wait for the end until a deadline of the monotonic clock, then kill the run.

        Returns whether the task ended by itself. Spark reports a job as ended as soon as it is cancelled. The run has
        ended only when its process has closed its link, or has been unreachable for so long that it must have stopped
        itself: only then may a successor start (invariant 4).
        """
        in_time = self._ended.wait(max(0.0, deadline - time.monotonic()))
        if not in_time:
            self._launcher.cancel(self.plan.connector, self.number)
        self._link.await_end(self.plan.connector, self.number, FENCED_SECONDS)
        self._link.forget(self.plan.connector, self.number)
        self._ended.wait(CANCEL_SECONDS)
        return in_time

    def on_status(self, generation: int, state: State, trace: str | None) -> None:
        """Record a status that the current run reports; ignore older runs."""
        with self._lock:
            if generation != self._generation or self._is_over:
                return
            if self._is_moving and state is State.FAILED:
                return  # a failure during a requested move is not the task's failure: another run follows
            self._launcher.has_begun(self.plan.connector, self.number)
            self._has_failed = state is State.FAILED
            self._end_start(is_success=not self._has_failed)
            if self._has_failed:
                self.history.end("failed", trace and self.settings.hidden(trace))
            self._report(state, trace)
            if state in (State.RUNNING, State.PAUSED) and (state is State.PAUSED) is not self._is_paused:
                # The command was sent before the run could receive it.
                self._notify()

    def on_counts(self, generation: int, counts: CHANGES) -> None:
        """Add what the current run has counted."""
        if generation == self._generation:
            self._metrics.take(counts)

    def on_plugins(self, generation: int, metrics: Iterable[Metric]) -> None:
        """Take what the plugins of the current run measure."""
        if generation == self._generation:
            self.measured.take_plugins(metrics)

    def on_topics(self, generation: int, topics: Iterable[str]) -> None:
        """Record the topics that the current run uses, also while it drains."""
        with self._lock:
            if generation == self._generation and not self._ended.is_set():
                self._board.add_topics(self.plan.connector, topics)

    def on_lost_link(self, generation: int) -> None:
        """Report the current run as unreachable; it either reconnects or its end is reported."""
        with self._lock:
            if generation == self._generation and not self._is_over and not self._has_failed:
                self._report(State.UNASSIGNED)
                with self._about():
                    log.warning("the task is unreachable: its run reconnects or ends")

    def on_end(self, end: TaskEnd) -> None:
        """Handle the end of the current run, and launch another if it was lost."""
        with self._lock:
            if end.generation != self._generation or self._ended.is_set():
                return
            if self._is_stopping or self._has_failed:
                self._ended.set()
                return
            if self._is_moving:
                self.history.end("moved", end.reason)
                self._launch()
                return
            self.history.end("lost", self.settings.hidden(end.reason or NO_WORD))
            self._end_start(is_success=False)
            if end.loss is not None and end.loss.was_shared:
                with self._about():
                    self._sharing_history.lost(is_known=end.loss.is_suspect)
                    if end.loss.is_suspect:
                        self._sharing_history.set_apart("the process that it shared did not answer correctly")
            self._losses = 1 if self._clock() - self._launched_at >= SETTLED_SECONDS else self._losses + 1
            if self._losses > LOSSES:
                self._give_up(end.reason)
                return
            with self._about():
                log.warning("relaunching the task, its run ended unexpectedly: %s", end.reason or NO_WORD)
            self._launch(end.reason)

    @property
    def _is_over(self) -> bool:
        return self._ended.is_set() or self._is_stopping

    def _notify(self) -> None:
        if not self._is_over:
            self._link.command(self.plan.connector, self.number, "pause" if self._is_paused else "resume")

    def _launch(self, loss: str | None = None) -> None:
        """Launch a run; its status shows why the previous one was lost."""
        self._generation = next(self._generations)
        self._has_failed = self._is_moving = False
        self._is_starting = True
        self._metrics.begin_run()
        self.history.begin_run()
        self._launched_at = self._clock()
        self._report(State.UNASSIGNED, loss)
        address = self._link.expect(self.plan, self._generation, self._is_paused, self.settings.hidden)
        shares = "" if self._sharing_history.is_apart else self.plan.shares
        launch = TaskLaunch(self.plan.connector, self.number, self._generation, address, shares)
        self._launcher.launch(launch, self.plan, self.on_end)

    def _give_up(self, error: str | None) -> None:
        self._has_failed = True
        self._ended.set()
        text = f"the task was lost {self._losses} times in a row right after its start: {error or NO_WORD}"
        with self._about():
            log.error("the task is FAILED: %s", self.settings.hidden(text))
        self._report(State.FAILED, text)

    def _end_start(self, *, is_success: bool) -> None:
        """Count the end of a run's start, once."""
        if self._is_starting:
            self._is_starting = False
            self._starts.ended(is_success=is_success)

    def _about(self) -> AbstractContextManager[None]:
        return about(label_of(self.plan.connector, self.number))

    def _report(self, state: State, trace: str | None = None) -> None:
        shown = trace and self.settings.hidden(trace)
        self._metrics.enter(state)
        self.history.enter(state)
        self._board.task(self.plan.connector, self.number, state, shown, self._version)
        self._on_state(state)
