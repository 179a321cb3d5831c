"""One task's life: lost, found, failed, stopped."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.config.variable import Resolved
from hearth.herder.sharing_history import SharingHistory
from hearth.herder.status import StatusBoard
from hearth.herder.task import LOSSES, SupervisedTask
from hearth.link.heartbeat import FENCED_SECONDS
from hearth.runtime.launcher import RunLoss
from hearth.storage import State
from tests.unit.herder.fake import FakeSpark, StatusWatch
from tests.unit.runtime.sample import task_plan

NOTHING = Resolved({}, {})
"""A configuration without anything."""


class Stand:
    """A task over a fake Spark and a clock that a test turns."""

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
            self.spark,
            self.spark,
            board,
            itertools.count(),
            lambda: self.now,
            sharing_history=sharing_history,
        )
        self.run.start(paused=False)

    def state(self) -> State:
        """Return what the status says."""
        status = self.statuses.task("c", 0)
        assert status is not None
        return status.state

    @property
    def trace(self) -> str:
        """Return the trace of the status."""
        status = self.statuses.task("c", 0)
        assert status is not None
        return status.trace or ""

    def report(self, state: State, trace: str | None = None) -> None:
        """Report in the name of the present run."""
        self.spark.linked.add(("c", 0))
        self.run.on_status(self.spark.runs[-1].generation, state, trace)

    def stop(self, seconds: float = 0.2) -> bool:
        """Stop the task; returns whether it ended in time."""
        self.run.begin_stop()
        return self.run.await_stop(time.monotonic() + seconds)


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    """Make a task that is launched and has not reported yet."""
    return Stand(tmp_path)


def test_a_lost_run_is_launched_again_at_once_under_a_new_generation(stand: Stand) -> None:
    """A killed executor is nobody's failure."""
    stand.report(State.RUNNING)
    stand.spark.end(stand.spark.runs[0], "executor 3 exited")
    assert [run.generation for run in stand.spark.runs] == [0, 1]
    assert stand.spark.runs[1].launch.link.token == "token-1"
    assert stand.state() is State.UNASSIGNED


def test_an_end_without_a_word_is_a_loss_too(stand: Stand) -> None:
    """A task that lost its host stops itself and reports nothing."""
    stand.report(State.RUNNING)
    stand.spark.end(stand.spark.runs[0])
    assert len(stand.spark.runs) == 2


def test_a_failure_the_task_reported_stays(stand: Stand) -> None:
    """It is the plugin's, and a user's to look at."""
    stand.report(State.FAILED, "why")
    stand.run.on_lost_link(0)
    stand.spark.end(stand.spark.runs[0], "whatever")
    assert len(stand.spark.runs) == 1
    assert (stand.state(), stand.trace) == (State.FAILED, "why")


def test_who_launched_a_run_hears_that_it_has_begun(stand: Stand) -> None:
    """By its first status, whatever that is; nobody has to ask Spark whether the run got a slot."""
    assert stand.spark.begun == []
    stand.report(State.PAUSED)
    assert stand.spark.begun == [("c", 0)]


def test_an_older_run_is_not_heard(stand: Stand) -> None:
    """Only the present generation speaks for the task."""
    stand.report(State.RUNNING)
    stand.spark.end(stand.spark.runs[0], "lost")
    stand.run.on_status(0, State.FAILED, "too late")
    stand.run.on_lost_link(0)
    stand.spark.end(stand.spark.runs[0], "again")
    assert stand.state() is State.UNASSIGNED
    assert len(stand.spark.runs) == 2


def test_topics_of_the_present_run_are_remembered(stand: Stand) -> None:
    """Also while it drains, when what it had is acknowledged; not of an older one, and not when it has ended."""
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


def test_a_task_that_is_lost_again_and_again_is_failed(stand: Stand) -> None:
    """Launching has a bound; the trace has the last reason."""
    for _ in range(LOSSES + 1):
        stand.spark.end(stand.spark.runs[-1], "no module named hearth")
    assert len(stand.spark.runs) == LOSSES + 1
    assert stand.state() is State.FAILED
    assert "no module named hearth" in stand.trace
    assert stand.stop()


def test_runs_that_last_are_lost_without_a_bound(stand: Stand) -> None:
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
def test_who_is_let_down_in_a_shared_process_shares_none_in_the_end(
    tmp_path: Path, losses: list[RunLoss], shared: list[bool]
) -> None:
    """At once where it got no answer, the second time where nobody knows who has ended the process."""
    sharing_history = SharingHistory()
    stand = Stand(tmp_path, "bundle", sharing_history)
    for loss in losses:
        stand.spark.end(stand.spark.runs[-1], loss)
    assert [run.launch.shares == "bundle" for run in stand.spark.runs] == shared
    assert sharing_history.is_apart is not shared[-1]
    assert stand.trace == losses[-1].reason
    again = Stand(tmp_path, "bundle", sharing_history)
    assert (again.spark.runs[0].launch.shares == "bundle") is shared[-1], "until it is configured anew"


def test_a_run_out_of_reach_is_unassigned_until_it_is_back(stand: Stand) -> None:
    """Spark may try a task again by itself, under the same generation."""
    stand.report(State.RUNNING)
    stand.run.on_lost_link(0)
    assert stand.state() is State.UNASSIGNED
    stand.report(State.RUNNING)
    assert stand.state() is State.RUNNING
    assert len(stand.spark.runs) == 1


def test_a_task_that_could_not_hear_is_told_again(stand: Stand) -> None:
    """It was paused while it was on its way."""
    stand.spark.is_deaf = True
    stand.run.pause(True)
    stand.report(State.RUNNING)
    assert stand.spark.commands == [("c", 0, "pause"), ("c", 0, "pause")]
    stand.report(State.PAUSED)
    assert len(stand.spark.commands) == 2


def test_a_task_drains_before_it_ends(stand: Stand) -> None:
    """Invariant 8: it is told to stop and not cut off."""
    stand.report(State.RUNNING)
    assert stand.stop(5)
    assert stand.spark.commands == [("c", 0, "stop")]
    assert stand.spark.cancelled == []
    assert stand.spark.forgotten == [("c", 0)]


def test_a_task_that_does_not_drain_is_cut_off(stand: Stand) -> None:
    """The host does not wait for ever."""
    stand.spark.is_deaf = True
    stand.report(State.RUNNING)
    assert not stand.stop()
    assert stand.spark.cancelled == [("c", 0)]


def test_a_task_still_waiting_for_its_place_is_called_off(stand: Stand) -> None:
    """There is nothing to drain, so nobody waits."""
    began = time.monotonic()
    assert stand.stop(60)
    assert time.monotonic() - began < 30
    assert stand.spark.commands == []
    assert stand.spark.cancelled == [("c", 0)]
    assert ("c", 0) in stand.spark.forgotten


def test_a_run_that_ends_while_it_is_stopped_is_not_launched_again(stand: Stand) -> None:
    """Nor does anything it says then count."""
    stand.report(State.RUNNING)
    stand.spark.is_deaf = True
    stand.run.begin_stop()
    stand.report(State.FAILED, "the last flush failed")
    stand.spark.end(stand.spark.runs[0], "killed")
    assert stand.run.await_stop(time.monotonic() + 5)
    assert len(stand.spark.runs) == 1
    assert stand.state() is State.RUNNING


def test_a_task_whose_plugin_is_starting_is_told_to_stop_and_waited_for(stand: Stand) -> None:
    """It is linked although no status came yet, so its successor must not start beside it."""
    stand.spark.linked.add(("c", 0))
    assert stand.stop(5)
    assert stand.spark.commands == [("c", 0, "stop")]
    assert stand.spark.cancelled == []


def test_a_task_that_is_followed_by_others_is_told_so(stand: Stand) -> None:
    """It leaves to them what they share; how it is waited for is the same."""
    stand.report(State.RUNNING)
    stand.run.begin_stop(is_followed=True)
    assert stand.run.await_stop(time.monotonic() + 5)
    assert stand.spark.commands == [("c", 0, "replace")]


def test_a_task_that_is_cut_off_has_ended_only_when_its_link_has(stand: Stand) -> None:
    """Spark calls a cancelled job over while its process still runs."""
    stand.spark.is_deaf = True
    stand.report(State.RUNNING)
    assert not stand.stop()
    assert stand.spark.awaited == [FENCED_SECONDS]
    assert stand.spark.forgotten == [("c", 0)]


def test_a_run_that_fell_silent_is_cancelled_and_waited_for(stand: Stand) -> None:
    """It is out of reach and may be running until it has noticed, so it keeps its registration until then."""
    stand.report(State.RUNNING)
    stand.spark.lose_link(stand.spark.runs[0])
    stand.spark.is_silent = True
    stand.run.begin_stop()
    assert stand.spark.forgotten == []
    stand.run.await_stop(time.monotonic() + 5)
    assert stand.spark.awaited == [0, FENCED_SECONDS]
    assert stand.spark.cancelled == [("c", 0)]
    assert stand.spark.forgotten == [("c", 0)]


def test_why_a_run_was_lost_is_shown_at_once(stand: Stand) -> None:
    """Not only after it was tried ten times."""
    stand.spark.end(stand.spark.runs[0], "could not reach its host at 10.0.0.1:1")
    assert (stand.state(), stand.trace) == (State.UNASSIGNED, "could not reach its host at 10.0.0.1:1")
    stand.report(State.RUNNING)
    assert stand.trace == ""


def test_a_task_that_was_told_to_stop_is_not_begun(stand: Stand) -> None:
    """Its host stops all tasks while a queue is about to launch one; nobody would stop that."""
    spark = FakeSpark()
    spark.cancel = lambda connector, task: None  # type: ignore[method-assign]
    run = SupervisedTask(
        stand.run.plan, NOTHING, "1", spark, spark, StatusBoard(stand.statuses, "w:1"), itertools.count(1)
    )
    run.begin_stop()
    run.start(paused=False)
    assert spark.runs == []
    assert run.await_stop(time.monotonic() + 5)


def test_a_task_that_moves_drains_and_goes_on_under_a_new_generation(stand: Stand) -> None:
    """It is told once, and counts as no loss; what its run says of its end is no failure."""
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
    """The one stays for somebody to look at, the other is not to go on anywhere."""
    stand.report(State.FAILED, "why")
    assert not stand.run.move()
    stand.spark.end(stand.spark.runs[0])
    assert len(stand.spark.runs) == 1


def test_a_task_that_is_stopped_while_it_moves_stays_stopped(stand: Stand) -> None:
    """Whichever end comes first."""
    stand.report(State.RUNNING)
    stand.spark.is_deaf = True
    assert stand.run.move()
    stand.run.begin_stop()
    stand.spark.end(stand.spark.runs[0])
    assert stand.run.await_stop(time.monotonic() + 1)
    assert len(stand.spark.runs) == 1
    assert not stand.run.move()


def test_a_moving_run_that_is_lost_with_its_executor_goes_on_elsewhere_too(stand: Stand) -> None:
    """The executor it was to leave may die before it has drained."""
    stand.report(State.RUNNING)
    stand.spark.is_deaf = True
    assert stand.run.move()
    stand.spark.end(stand.spark.runs[0], "executor 3 exited")
    stand.report(State.RUNNING)
    assert stand.state() is State.RUNNING
    assert len(stand.spark.runs) == 2
