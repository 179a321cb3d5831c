"""The life of one task: lost, relaunched, failed, stopped."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.config.variable import Resolved
from hearth.herder.sharing_history import SharingHistory
from hearth.herder.status import StatusBoard
from hearth.herder.task import LOSSES, RunServices, SupervisedTask
from hearth.link.heartbeat import FENCED_SECONDS
from hearth.runtime.launcher import RunLoss
from hearth.storage import State
from tests.unit.herder.fake import FakeSpark, StatusWatch
from tests.unit.runtime.sample import task_plan

NOTHING = Resolved({}, {})
"""An empty configuration."""


class Stand:
    """A task over a fake Spark and a fake clock."""

    def __init__(self, root: Path, shares: str = "", sharing_history: SharingHistory | None = None) -> None:
        self.now = 0.0
        self.spark = FakeSpark()
        self.spark.starts_at_once = False
        self.statuses = StatusWatch()
        plan = replace(task_plan("source"), shares=shares)
        board = StatusBoard(self.statuses, "w:1")
        self.run = SupervisedTask(
            plan,
            NOTHING,
            "1",
            RunServices(self.spark, self.spark, board, itertools.count()),
            lambda: self.now,
            sharing_history=sharing_history,
        )
        self.run.start(paused=False)

    def state(self) -> State:
        """Return the state in the status."""
        status = self.statuses.task("c", 0)
        assert status is not None
        return status.state

    @property
    def trace(self) -> str:
        """Return the trace in the status."""
        status = self.statuses.task("c", 0)
        assert status is not None
        return status.trace or ""

    def report(self, state: State, trace: str | None = None) -> None:
        """Report a status of the current run."""
        self.spark.linked.add(("c", 0))
        self.run.on_status(self.spark.runs[-1].generation, state, trace)

    def stop(self, seconds: float = 0.2) -> bool:
        """Stop the task; return whether it ended in time."""
        self.run.begin_stop()
        return self.run.await_stop(time.monotonic() + seconds)


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    """Return a task that is launched and has not reported yet."""
    return Stand(tmp_path)


def test_a_lost_run_is_relaunched_at_once_with_a_new_generation(stand: Stand) -> None:
    """A killed executor is not a failure of the task."""
    stand.report(State.RUNNING)
    stand.spark.end(stand.spark.runs[0], "executor 3 exited")
    assert [run.generation for run in stand.spark.runs] == [0, 1]
    assert stand.spark.runs[1].launch.link.token == "token-1"
    assert stand.state() is State.UNASSIGNED


def test_an_end_without_a_report_is_a_loss(stand: Stand) -> None:
    """A task that has lost its host stops itself and reports nothing."""
    stand.report(State.RUNNING)
    stand.spark.end(stand.spark.runs[0])
    assert len(stand.spark.runs) == 2


def test_a_reported_failure_is_not_retried(stand: Stand) -> None:
    """It is the plugin's failure, for a user to handle."""
    stand.report(State.FAILED, "why")
    stand.run.on_lost_link(0)
    stand.spark.end(stand.spark.runs[0], "whatever")
    assert len(stand.spark.runs) == 1
    assert (stand.state(), stand.trace) == (State.FAILED, "why")


def test_the_launcher_is_notified_of_the_first_status(stand: Stand) -> None:
    """Whatever the status is; so Spark need not be asked whether the run got a slot."""
    assert stand.spark.begun == []
    stand.report(State.PAUSED)
    assert stand.spark.begun == [("c", 0)]


def test_a_status_of_an_older_run_is_ignored(stand: Stand) -> None:
    """Only the current generation reports for the task."""
    stand.report(State.RUNNING)
    stand.spark.end(stand.spark.runs[0], "lost")
    stand.run.on_status(0, State.FAILED, "too late")
    stand.run.on_lost_link(0)
    stand.spark.end(stand.spark.runs[0], "again")
    assert stand.state() is State.UNASSIGNED
    assert len(stand.spark.runs) == 2


def test_topics_of_the_current_run_are_recorded(stand: Stand) -> None:
    """Also while it drains; not those of an older run, and not after its end."""
    stand.report(State.RUNNING)
    stand.spark.end(stand.spark.runs[0], "executor 3 exited")
    stand.report(State.RUNNING)
    stand.run.on_topics(0, ["old"])
    stand.run.on_topics(1, ["t"])
    stand.spark.is_deaf = True
    stand.run.begin_stop()
    stand.run.on_topics(1, ["u"])
    stand.spark.end(stand.spark.runs[1])
    stand.run.on_topics(1, ["late"])
    assert stand.statuses.topics("c") == ["t", "u"]


def test_a_task_that_is_lost_repeatedly_is_failed(stand: Stand) -> None:
    """Relaunching has a limit; the trace has the last reason."""
    for _ in range(LOSSES + 1):
        stand.spark.end(stand.spark.runs[-1], "no module named hearth")
    assert len(stand.spark.runs) == LOSSES + 1
    assert stand.state() is State.FAILED
    assert "no module named hearth" in stand.trace
    assert stand.stop()


def test_losses_of_long_runs_have_no_limit(stand: Stand) -> None:
    """A machine may reboot every night."""
    for _ in range(3 * LOSSES):
        stand.now += 60
        stand.spark.end(stand.spark.runs[-1], "executor lost")
    assert stand.state() is State.UNASSIGNED


DEATH = RunLoss("the process has ended", was_shared=True)
HANG = RunLoss("it did not answer", was_shared=True, is_suspect=True)


@pytest.mark.parametrize(
    ("losses", "shared"),
    [
        ([DEATH, DEATH], [True, True, False]),
        ([HANG], [True, False]),
        ([RunLoss("executor lost")] * 3, [True, True, True, True]),
        ([DEATH, RunLoss("executor lost"), DEATH, DEATH], [True, True, True, False, False]),
    ],
)
def test_a_task_that_lost_a_shared_process_gets_its_own(
    tmp_path: Path, losses: list[RunLoss], shared: list[bool]
) -> None:
    """At once if a call got no answer, on the second loss if the cause is unknown."""
    sharing_history = SharingHistory()
    stand = Stand(tmp_path, "bundle", sharing_history)
    for loss in losses:
        stand.spark.end(stand.spark.runs[-1], loss)
    assert [run.launch.shares == "bundle" for run in stand.spark.runs] == shared
    assert sharing_history.is_apart is not shared[-1]
    assert stand.trace == losses[-1].reason
    again = Stand(tmp_path, "bundle", sharing_history)
    assert (again.spark.runs[0].launch.shares == "bundle") is shared[-1], "until it is configured anew"


def test_an_unreachable_run_is_unassigned_until_it_reconnects(stand: Stand) -> None:
    """Spark may retry the task itself, with the same generation."""
    stand.report(State.RUNNING)
    stand.run.on_lost_link(0)
    assert stand.state() is State.UNASSIGNED
    stand.report(State.RUNNING)
    assert stand.state() is State.RUNNING
    assert len(stand.spark.runs) == 1


def test_a_command_is_repeated_to_a_run_that_missed_it(stand: Stand) -> None:
    """The task was paused while the run was starting."""
    stand.spark.is_deaf = True
    stand.run.pause(True)
    stand.report(State.RUNNING)
    assert stand.spark.commands == [("c", 0, "pause"), ("c", 0, "pause")]
    stand.report(State.PAUSED)
    assert len(stand.spark.commands) == 2


def test_a_stopped_task_drains_before_it_ends(stand: Stand) -> None:
    """Invariant 8: it receives a stop and is not killed."""
    stand.report(State.RUNNING)
    assert stand.stop(5)
    assert stand.spark.commands == [("c", 0, "stop")]
    assert stand.spark.cancelled == []
    assert stand.spark.forgotten == [("c", 0)]


def test_a_task_that_does_not_drain_is_killed(stand: Stand) -> None:
    """The host does not wait forever."""
    stand.spark.is_deaf = True
    stand.report(State.RUNNING)
    assert not stand.stop()
    assert stand.spark.cancelled == [("c", 0)]


def test_a_task_that_waits_for_a_slot_is_cancelled(stand: Stand) -> None:
    """There is nothing to drain, so stopping does not wait."""
    began = time.monotonic()
    assert stand.stop(60)
    assert time.monotonic() - began < 30
    assert stand.spark.commands == []
    assert stand.spark.cancelled == [("c", 0)]
    assert ("c", 0) in stand.spark.forgotten


def test_a_run_that_ends_while_stopping_is_not_relaunched(stand: Stand) -> None:
    """Later reports are ignored."""
    stand.report(State.RUNNING)
    stand.spark.is_deaf = True
    stand.run.begin_stop()
    stand.report(State.FAILED, "the last flush failed")
    stand.spark.end(stand.spark.runs[0], "killed")
    assert stand.run.await_stop(time.monotonic() + 5)
    assert len(stand.spark.runs) == 1
    assert stand.state() is State.RUNNING


def test_stopping_a_task_waits_for_its_starting_plugin(stand: Stand) -> None:
    """It is connected although it has no status yet, so its successor must not start at the same time."""
    stand.spark.linked.add(("c", 0))
    assert stand.stop(5)
    assert stand.spark.commands == [("c", 0, "stop")]
    assert stand.spark.cancelled == []


def test_a_task_with_a_successor_receives_replace(stand: Stand) -> None:
    """It leaves shared state to its successor; the wait for its end is the same."""
    stand.report(State.RUNNING)
    stand.run.begin_stop(is_followed=True)
    assert stand.run.await_stop(time.monotonic() + 5)
    assert stand.spark.commands == [("c", 0, "replace")]


def test_a_killed_task_has_ended_only_when_its_link_closes(stand: Stand) -> None:
    """Spark reports a cancelled job as ended while its process still runs."""
    stand.spark.is_deaf = True
    stand.report(State.RUNNING)
    assert not stand.stop()
    assert stand.spark.awaited == [FENCED_SECONDS]
    assert stand.spark.forgotten == [("c", 0)]


def test_an_unreachable_run_is_cancelled_and_awaited(stand: Stand) -> None:
    """It may run until it notices that it is unreachable, so it keeps its registration until then."""
    stand.report(State.RUNNING)
    stand.spark.lose_link(stand.spark.runs[0])
    stand.spark.is_silent = True
    stand.run.begin_stop()
    assert stand.spark.forgotten == []
    stand.run.await_stop(time.monotonic() + 5)
    assert stand.spark.awaited == [0, FENCED_SECONDS]
    assert stand.spark.cancelled == [("c", 0)]
    assert stand.spark.forgotten == [("c", 0)]


def test_the_reason_of_a_loss_is_shown_at_once(stand: Stand) -> None:
    """Not only after ten attempts."""
    stand.spark.end(stand.spark.runs[0], "could not reach its host at 10.0.0.1:1")
    assert (stand.state(), stand.trace) == (State.UNASSIGNED, "could not reach its host at 10.0.0.1:1")
    stand.report(State.RUNNING)
    assert stand.trace == ""


def test_a_stopped_task_is_not_launched(stand: Stand) -> None:
    """The host stops all tasks while a queue is about to launch one, which nothing would stop."""
    spark = FakeSpark()
    spark.cancel = lambda connector, task: None  # type: ignore[method-assign]
    services = RunServices(spark, spark, StatusBoard(stand.statuses, "w:1"), itertools.count(1))
    run = SupervisedTask(stand.run.plan, NOTHING, "1", services)
    run.begin_stop()
    run.start(paused=False)
    assert spark.runs == []
    assert run.await_stop(time.monotonic() + 5)


def test_a_moving_task_drains_and_continues_with_a_new_generation(stand: Stand) -> None:
    """It gets one command, and counts as no loss; what its run reports about its end is no failure."""
    assert not stand.run.move(), "it has not begun"
    stand.report(State.RUNNING)
    stand.spark.is_deaf = True
    assert stand.run.move()
    assert not stand.run.move()
    assert stand.spark.commands == [("c", 0, "replace")]
    stand.report(State.FAILED, "it was in the midst of something")
    assert stand.state() is State.RUNNING
    for _ in range(LOSSES + 2):
        stand.spark.end(stand.spark.runs[-1])
        stand.report(State.RUNNING)
        assert stand.run.move()
    assert stand.state() is State.RUNNING
    assert [run.generation for run in stand.spark.runs] == list(range(LOSSES + 3))


def test_a_task_that_has_failed_or_stops_does_not_move(stand: Stand) -> None:
    """A failed one stays for inspection, a stopping one continues nowhere."""
    stand.report(State.FAILED, "why")
    assert not stand.run.move()
    stand.spark.end(stand.spark.runs[0])
    assert len(stand.spark.runs) == 1


def test_a_task_stopped_while_moving_stays_stopped(stand: Stand) -> None:
    """Whichever comes first."""
    stand.report(State.RUNNING)
    stand.spark.is_deaf = True
    assert stand.run.move()
    stand.run.begin_stop()
    stand.spark.end(stand.spark.runs[0])
    assert stand.run.await_stop(time.monotonic() + 1)
    assert len(stand.spark.runs) == 1
    assert not stand.run.move()


def test_a_moving_run_lost_with_its_executor_continues_elsewhere(stand: Stand) -> None:
    """The executor may die before the run has drained."""
    stand.report(State.RUNNING)
    stand.spark.is_deaf = True
    assert stand.run.move()
    stand.spark.end(stand.spark.runs[0], "executor 3 exited")
    stand.report(State.RUNNING)
    assert stand.state() is State.RUNNING
    assert len(stand.spark.runs) == 2
