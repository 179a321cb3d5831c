"""One task on Spark, as its herder sees it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from hearth.config.variable import Resolved
from hearth.foundation.log_context import about, label_of
from hearth.herder.sharing_history import SharingHistory
from hearth.herder.status import StatusBoard
from hearth.link.admission import LinkAddress
from hearth.link.heartbeat import FENCED_SECONDS
from hearth.runtime.launcher import Launcher, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.storage import State

log = logging.getLogger(__name__)

LOSSES = 10
"""How often in a row a run may be lost before the task counts as failed."""
SETTLED_SECONDS = 10.0
"""A run that lasted this long was not lost by its own doing: counting starts anew."""
CANCEL_SECONDS = 5.0
"""How long Spark may take to say that a job is over whose process has ended."""


NO_WORD = "its executor ended it without a word"


class CommandLine(Protocol):
    """The host's way to its tasks; `TaskLinkServer` is one."""

    def expect(
        self, plan: TaskPlan, generation: int, is_paused: bool, hidden: Callable[[str], str] = str
    ) -> LinkAddress:
        """Admit this generation of a task and no older one, and tell it its plan.

        What it logs is shown as ``hidden`` has it, without the values that nobody is to see.
        """

    def command(self, connector: str, task: int, command: str) -> None:
        """Send a command now, or when the task links."""

    def forget_topics(self, connector: str) -> None:
        """Have the tasks of a connector tell the topics again that they touch from now on."""

    def is_linked(self, connector: str, task: int) -> bool:
        """Return whether a run of a task is linked now."""

    def await_end(self, connector: str, task: int, timeout: float) -> bool:
        """Wait until no run of a task that was linked can be running any more; returns whether that is so."""

    def forget(self, connector: str, task: int) -> bool:
        """Admit no generation any more; returns whether a run was linked."""


class SupervisedTask:
    """A task from its first launch until it is stopped.

    A run that ends although nobody stopped it and nothing failed was lost with its executor: the task is
    launched again at once, under a new generation, so that the old run can neither report nor commit any more
    should it still be there. A failure that the task reported stays until somebody restarts it.
    """

    def __init__(
        self,
        plan: TaskPlan,
        settings: Resolved,
        version: str | None,
        launcher: Launcher,
        link: CommandLine,
        board: StatusBoard,
        generations: Iterator[int],
        clock: Callable[[], float] = time.monotonic,
        heard: Callable[[State], None] = lambda state: None,
        sharing_history: SharingHistory | None = None,
    ) -> None:
        """``settings`` and ``version`` are those of the connector for which the task was planned.

        ``heard`` is told every state that the task comes to, by whichever thread hears of it, and does not wait.
        ``sharing_history`` says how its runs have behaved before, where its plan lets them share processes.
        """
        self.plan = plan
        self.settings = settings
        self._version = version
        self._launcher = launcher
        self._link = link
        self._board = board
        self._generations = generations
        self._heard = heard
        self._sharing_history = sharing_history or SharingHistory(whose="the task")
        self._clock = clock
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._generation = -1
        self._is_paused = False
        self._is_stopping = False
        self._is_moving = False
        self._has_failed = False
        self._launched_at = 0.0
        self._losses = 0

    @property
    def number(self) -> int:
        """Return the task's number."""
        return self.plan.task

    def start(self, paused: bool) -> None:
        """Launch the first run, unless the task was told to stop before."""
        with self._lock:
            self._is_paused = paused
            if not self._is_stopping:
                self._launch()

    def pause(self, paused: bool) -> None:
        """Let the task rest or go on; one that does not run yet hears of it when it does."""
        with self._lock:
            if paused is not self._is_paused:
                self._is_paused = paused
                self._tell()

    def move(self) -> bool:
        """Let the run drain and another take its place, on another executor perhaps; returns whether it will.

        One that is not linked, or has failed, stays where it is. Nobody waits for the end of the run.
        """
        task = (self.plan.connector, self.number)
        with self._lock:
            if self._is_over or self._has_failed or self._is_moving or not self._link.is_linked(*task):
                return False
            self._is_moving = True
            self._link.command(*task, "replace")
            return True

    def begin_stop(self, *, is_followed: bool = False) -> None:
        """Tell the task to drain and end; a run that has not begun is called off.

        One that ``is_followed`` by others at once is told so (see ``Consumer.close``).

        A run begins with its link: from then on its plugin may be running, although no status has come yet. One that
        fell silent may be running, too, and is cancelled and waited for.
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
                self._ended.set()  # it cannot link any more, so nothing of it will ever run
            self._launcher.cancel(*task)

    def await_stop(self, deadline: float) -> bool:
        """Wait for the end until a moment of the monotonic clock, then end the run by force.

        Returns whether the task came to its end by itself. Spark calls a job over as soon as it is cancelled. The run
        is over when its process has let go of its link, or has been out of reach for so long that it must have ended
        itself: only then may another take its place (invariant 4).
        """
        in_time = self._ended.wait(max(0.0, deadline - time.monotonic()))
        if not in_time:
            self._launcher.cancel(self.plan.connector, self.number)
        self._link.await_end(self.plan.connector, self.number, FENCED_SECONDS)
        self._link.forget(self.plan.connector, self.number)
        self._ended.wait(CANCEL_SECONDS)
        return in_time

    def on_status(self, generation: int, state: State, trace: str | None) -> None:
        """Take note of what the present run reports; older runs are not heard."""
        with self._lock:
            if generation != self._generation or self._is_over:
                return
            if self._is_moving and state is State.FAILED:
                return  # what a run that was told to end says of that is not the task's failure: another follows it
            self._launcher.has_begun(self.plan.connector, self.number)
            self._has_failed = state is State.FAILED
            self._report(state, trace)
            if state in (State.RUNNING, State.PAUSED) and (state is State.PAUSED) is not self._is_paused:
                # It was told before it could hear.
                self._tell()

    def on_topics(self, generation: int, topics: Iterable[str]) -> None:
        """Remember the topics the present run touches, also while it drains."""
        with self._lock:
            if generation == self._generation and not self._ended.is_set():
                self._board.add_topics(self.plan.connector, topics)

    def on_lost_link(self, generation: int) -> None:
        """Show that the present run is out of reach; it comes back, or its end is reported."""
        with self._lock:
            if generation == self._generation and not self._is_over and not self._has_failed:
                self._report(State.UNASSIGNED)
                with self._about():
                    log.warning("the task is out of reach: its run links again, or ends")

    def on_end(self, end: TaskEnd) -> None:
        """Take note of the end of the present run, and launch another when it was lost."""
        with self._lock:
            if end.generation != self._generation or self._ended.is_set():
                return
            if self._is_stopping or self._has_failed:
                self._ended.set()
                return
            if self._is_moving:
                self._launch()
                return
            if end.loss is not None and end.loss.was_shared:
                with self._about():
                    self._sharing_history.lost(is_known=end.loss.is_suspect)
                    if end.loss.is_suspect:
                        self._sharing_history.set_apart("the process that it shared did not answer it as it should")
            self._losses = 1 if self._clock() - self._launched_at >= SETTLED_SECONDS else self._losses + 1
            if self._losses > LOSSES:
                self._give_up(end.reason)
                return
            with self._about():
                log.warning("the task is launched again, its run ended before its time: %s", end.reason or NO_WORD)
            self._launch(end.reason)

    @property
    def _is_over(self) -> bool:
        return self._ended.is_set() or self._is_stopping

    def _tell(self) -> None:
        if not self._is_over:
            self._link.command(self.plan.connector, self.number, "pause" if self._is_paused else "resume")

    def _launch(self, loss: str | None = None) -> None:
        """Launch a run; its status shows why the one before was lost."""
        self._generation = next(self._generations)
        self._has_failed = self._is_moving = False
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

    def _about(self) -> AbstractContextManager[None]:
        return about(label_of(self.plan.connector, self.number))

    def _report(self, state: State, trace: str | None = None) -> None:
        shown = trace and self.settings.hidden(trace)
        self._board.task(self.plan.connector, self.number, state, shown, self._version)
        self._heard(state)
