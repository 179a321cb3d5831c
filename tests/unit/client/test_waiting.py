"""Waiting ends when a state lasts, when a connector fails, or when time is over."""

from __future__ import annotations

import threading
import time

import pytest

from hearth.client.remote_cluster import RemoteCluster, RemoteConnector, RemoteTask
from hearth.client.waiting import ConnectorFailed, Waiting, WaitTimeout, is_reached
from hearth.storage import State, TaskStatus
from tests.unit.rest.client import Client


def test_states_are_reached_with_all_tasks() -> None:
    """A running connector has tasks; one that was created as paused has none, a stopped one never."""

    def reached(state: str, goal: str, *tasks: str) -> bool:
        shown = tuple(RemoteTask(number, each, "w") for number, each in enumerate(tasks))
        return is_reached(RemoteConnector("c", "sink", state, "w", {}, shown), goal)

    assert reached("RUNNING", "RUNNING", "RUNNING", "RUNNING")
    assert not reached("RUNNING", "RUNNING", "RUNNING", "UNASSIGNED")
    assert not reached("RUNNING", "RUNNING")
    assert reached("PAUSED", "PAUSED", "PAUSED")
    assert reached("PAUSED", "PAUSED")
    assert not reached("PAUSED", "PAUSED", "RUNNING")
    assert reached("STOPPED", "STOPPED")
    assert not reached("STOPPED", "STOPPED", "STOPPED")
    assert is_reached(None, "DELETED")
    assert not is_reached(None, "RUNNING")


def test_a_state_has_to_last(served: Client, cluster: RemoteCluster) -> None:
    """A status right after a change may be that of the run before."""
    served.create("c")
    begun = time.monotonic()
    Waiting(cluster, 30, settle=0.7).wait({"c": "RUNNING"})
    assert time.monotonic() - begun >= 0.7


def test_a_failure_ends_the_wait_with_its_trace(served: Client, cluster: RemoteCluster) -> None:
    """Once the report says that the present configuration runs."""
    served.create("c")
    served.bench.statuses.put_task(TaskStatus("c", 0, State.FAILED, "w", 9, "ValueError: broken\n  at x"))
    with pytest.raises(ConnectorFailed, match="c is FAILED: ValueError: broken") as caught:
        Waiting(cluster, 30, settle=0.1).wait({"c": "RUNNING"})
    assert caught.value.trace == "ValueError: broken\n  at x"


@pytest.mark.parametrize("report", [None, {"running": False}])
def test_a_failure_of_the_run_before_is_waited_out(
    served: Client, cluster: RemoteCluster, monkeypatch: pytest.MonkeyPatch, report: dict[str, bool] | None
) -> None:
    """On a worker of Java, which has no report, and while the report says that an earlier configuration runs."""
    served.create("c")
    served.bench.statuses.put_task(TaskStatus("c", 0, State.FAILED, "w", 9, "ValueError: broken"))
    before = cluster.connectors()
    reports = [report, report, None if report is None else {"running": True}]
    monkeypatch.setattr(cluster, "report", lambda _: reports.pop(0) if len(reports) > 1 else reports[0])
    mended = threading.Timer(0.5, lambda: served.bench.statuses.put_task(TaskStatus("c", 0, State.RUNNING, "w", 9)))
    mended.start()
    Waiting(cluster, 30, settle=0.1).wait({"c": "RUNNING"}, before)
    mended.join()


def test_time_over_names_the_states(served: Client, cluster: RemoteCluster) -> None:
    """Of what is not there, too."""
    served.create("c")
    with pytest.raises(WaitTimeout) as caught:
        Waiting(cluster, 0.1, settle=0).wait({"c": "PAUSED", "nosuch": "RUNNING"})
    assert str(caught.value) == "after 0.1 s c is RUNNING, tasks 0: RUNNING; nosuch does not exist"
