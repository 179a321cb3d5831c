"""A run that lost its host: it ends itself, or is ended."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from hearth.foundation.certificate import make_identity
from hearth.isolation.environment import Environment
from hearth.link.admission import LinkAddress
from hearth.runtime import task as module
from hearth.runtime.launcher import TaskLaunch
from hearth.runtime.link import HostLost, TaskLink, Welcome
from hearth.runtime.plan import TaskPlan
from hearth.runtime.task import TaskRun, run_task
from hearth_api import ConnectError
from tests.unit.link.link_world import Host
from tests.unit.runtime.sample import sink_plan, task_plan


def joined(plan: TaskPlan) -> TaskRun:
    """Return a run that has joined its host."""
    return TaskRun(Welcome(plan, is_paused=False), TaskLink())


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the last resort come after a moment, and take note of it."""
    noted: list[int] = []
    monkeypatch.setattr(module, "LAST_RESORT_SECONDS", 0.1)
    monkeypatch.setattr("os._exit", noted.append)
    return noted


def test_run_that_does_not_end_after_its_host_was_lost_is_ended_by_force(exits: list[int]) -> None:
    """Whatever holds it up: another run may have begun elsewhere (invariant 4)."""
    run = joined(task_plan("source"))
    run._on_lost()
    assert exits == [1]
    assert run._stopping.is_set()
    assert isinstance(run._early[0], HostLost)


def test_run_that_ends_in_time_is_left_alone(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process may carry another run already."""
    monkeypatch.setattr(module, "LAST_RESORT_SECONDS", 30)
    run = joined(task_plan("source"))
    lost = threading.Thread(target=run._on_lost)
    lost.start()
    run._over.set()
    lost.join(5)
    assert not lost.is_alive()
    assert exits == []


def test_run_that_breaks_while_it_is_closed_is_over(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that happens then may leave the last resort behind for the next run of the process."""

    def fail(_run: TaskRun) -> None:
        raise RuntimeError("closing")

    monkeypatch.setattr(TaskRun, "_execute", fail)
    run = joined(task_plan("source"))
    with pytest.raises(RuntimeError, match="closing"):
        run.execute()
    run._on_lost()
    assert exits == []


def test_run_that_does_not_find_its_host_says_so(exits: list[int]) -> None:
    """Spark carries the reason to the host, at once and without trying again."""
    launch = TaskLaunch("c", 0, 1, LinkAddress("127.0.0.1", 1, "token", make_identity().certificate))
    reason = run_task(launch, lambda environment: environment)  # nobody listens on port 1
    assert reason is not None
    assert reason.startswith("could not reach its host at 127.0.0.1:1: ")
    assert "spark.driver.host" in reason
    assert exits == []


def test_run_looks_for_its_environments_once_it_is_told_its_plan(
    exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was carried to this machine is known only now; the link is closed when everything else has ended."""
    host, ran = Host(), []

    def execute(run: TaskRun) -> None:
        ran.append((run._spec, run._is_paused))
        assert host.server.is_linked("c", 0)

    monkeypatch.setattr(TaskRun, "execute", execute)
    plan = replace(task_plan("sink"), environments={"bundle": Environment("bundle", ("{0}",), ("/host/site",))})
    address = host.server.expect(plan, 1, True)
    reason = run_task(TaskLaunch("c", 0, 1, address), lambda each: replace(each, paths=("/here/0",)))
    assert reason is None
    found = {"bundle": Environment("bundle", ("{0}",), ("/here/0",))}
    assert ran == [(replace(plan, environments=found), True)]
    assert host.next_event().kind == "lost"
    host.server.close()


def test_run_that_its_host_does_not_expect_ends_without_a_word(exits: list[int]) -> None:
    """Another has its place; there is nothing to tell anybody, and no link is left behind."""
    host = Host()
    address = replace(host.expect("c", 0, 1), token="another")
    assert run_task(TaskLaunch("c", 0, 1, address), lambda environment: environment) is None
    assert not host.server.is_linked("c", 0)
    host.server.close()


def test_nobody_waits_for_a_plugin_once_the_host_is_lost(exits: list[int]) -> None:
    """A call that may take minutes ends at once, and so does one of a stage that is started later."""
    gone: list[Exception] = []
    early, late = (SimpleNamespace(let_go=gone.append) for _ in range(2))
    run = joined(task_plan("source"))
    run._keep(early)  # type: ignore[arg-type]
    run._on_lost()
    run._keep(late)  # type: ignore[arg-type]
    assert [type(each) for each in gone] == [HostLost, HostLost]


def test_run_whose_start_fails_leaves_no_client_behind(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark uses its process again: a consumer that nobody polls would stay in the group, and its threads alive."""

    def fail(*_args: object) -> None:
        raise ConnectError("the stage does not start")

    monkeypatch.setattr(TaskRun, "_start_stage", fail)
    states: list[str] = []
    consumer = {"bootstrap.servers": "127.0.0.1:1", "log_level": "0", "group.id": "connect-c"}
    run = joined(replace(task_plan("sink"), sink=sink_plan(consumer=consumer)))
    run._link = SimpleNamespace(  # type: ignore[assignment]
        status=lambda state, trace: states.append(state), listen=lambda *_: None
    )
    run.execute()
    assert states == ["FAILED"]
    assert run._consumer is not None
    assert run._consumer._client is None
