"""A run of a task opens what the task needs, and closes it however the run ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hearth.foundation.certificate import make_identity
from hearth.isolation.environment import Environment
from hearth.isolation.stage_tenant import StageLost
from hearth.kafka.client_statistics import StatisticsKeeper
from hearth.kafka.consumer import Consumer
from hearth.kafka.token import no_tokens
from hearth.link.admission import LinkAddress
from hearth.runtime import end as end_module
from hearth.runtime import task as module
from hearth.runtime.delivery import Delivery, PutFailed
from hearth.runtime.end import RunEnd
from hearth.runtime.event_queue import EventQueue
from hearth.runtime.launcher import RunLoss, TaskLaunch
from hearth.runtime.link import Welcome
from hearth.runtime.plan import SourcePlan, TaskPlan, TransactionPlan
from hearth.runtime.task import TaskRun, run_task
from hearth.staging.place import OWN_STAGES
from hearth_api import ConnectError, PluginError, RetriableError
from hearth_execution.failure import ErrorInfo, RemoteError
from hearth_stage.token_call import GivenToken
from tests.timeouts import TIMEOUT
from tests.unit.link.link_world import Host
from tests.unit.runtime.sample import sink_plan, task_plan
from tests.unit.runtime.test_end import await_guards

NOWHERE = TaskLaunch("c", 0, 1, LinkAddress("127.0.0.1", 1, "token", make_identity().certificate))
"""Nobody listens there."""


def as_it_is(environment: Environment) -> Environment:
    """Return an environment that is where the host has it."""
    return environment


def elsewhere(environment: Environment) -> Environment:
    """Fail to find an environment."""
    raise ValueError("no such place")


class Link:
    """A link to a host that notes states."""

    def __init__(self, *_: Any) -> None:
        self.welcome = Welcome(task_plan("source"), is_paused=False)
        self.states: list[str] = []

    def status(self, state: str, trace: str | None = None, counts: Any = None) -> None:
        """Note a state."""
        self.states.append(state)

    def read_offsets(self, partitions: list[Any]) -> list[Any]:
        """Know of none."""
        return [None] * len(partitions)

    def token(self, source: str) -> GivenToken:
        """Have none."""
        return no_tokens(source)

    def close(self) -> None:
        """End."""


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let the last resort come after a moment, and take note of it."""
    noted: list[int] = []
    monkeypatch.setattr(end_module, "LAST_RESORT_SECONDS", 0.1)
    monkeypatch.setattr("os._exit", noted.append)
    return noted


def test_run_that_breaks_while_it_is_closed_is_over(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that happens then may leave the last resort behind for the next run of the process."""
    ends: list[RunEnd] = []

    class Noted(RunEnd):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            ends.append(self)

    def fail(_run: TaskRun) -> None:
        raise RuntimeError("closing")

    monkeypatch.setattr(module, "TaskLink", Link)
    monkeypatch.setattr(module, "RunEnd", Noted)
    monkeypatch.setattr(TaskRun, "execute", fail)
    with pytest.raises(RuntimeError, match="closing"):
        run_task(NOWHERE, as_it_is)
    ends[0].on_lost()
    await_guards()
    assert exits == []


def test_run_that_does_not_find_its_host_reports_the_reason(exits: list[int]) -> None:
    """Spark carries the reason to the host, at once and without another attempt."""
    reason = run_task(NOWHERE, as_it_is)
    assert reason is not None
    assert reason.reason.startswith("could not reach its host at 127.0.0.1:1: ")
    assert "spark.driver.host" in reason.reason
    assert exits == []


def test_a_run_looks_up_its_environments_when_it_receives_its_plan(
    exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was carried to this machine is known only now; the link is closed when everything else has ended."""
    host, ran = Host(), []

    def execute(run: TaskRun) -> None:
        ran.append((run._plan, run._is_paused))
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
    assert run_task(TaskLaunch("c", 0, 1, address), as_it_is) is None
    assert not host.server.is_linked("c", 0)
    host.server.close()
    await_guards()
    assert exits == []


def test_run_that_breaks_before_it_begins_leaves_nothing_behind(
    exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a link, by which its host would take it for running, nor a last resort in the process of others."""

    def fail(*_: object) -> None:
        raise ValueError("no such member")

    host = Host()
    with monkeypatch.context() as patched:
        patched.setattr(TaskPlan, "from_json", fail)
        with pytest.raises(ValueError, match="no such member"):
            run_task(TaskLaunch("c", 0, 1, host.expect("c", 0, 1)), as_it_is)
    plan = replace(task_plan("source"), environments={"bundle": Environment("bundle", ("java",))})
    with pytest.raises(ValueError, match="no such place"):
        run_task(TaskLaunch("c", 0, 2, host.server.expect(plan, 2, False)), elsewhere)
    assert host.server.await_end("c", 0, TIMEOUT)
    host.server.close()
    await_guards()
    assert exits == []


def test_a_run_whose_shared_process_dies_is_restarted(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The run reports that and is not FAILED: it may have done nothing wrong."""
    link: Any = Link()
    for is_suspect in (True, False):
        lost = StageLost(PluginError("the process ended"), is_suspect=is_suspect)

        def fail(*_args: object, lost: StageLost = lost) -> None:
            try:
                raise lost
            except PluginError as error:
                raise PutFailed(error, "a.Sink", Delivery()) from error

        monkeypatch.setattr(TaskRun, "_open_places", fail)
        end = RunEnd("c-0", EventQueue())
        run = TaskRun(Welcome(task_plan("source"), is_paused=False), end, link, OWN_STAGES)
        assert run.execute() == RunLoss("the process ended, which it shares with others", True, is_suspect)
        end.complete()
    assert link.states == ["UNASSIGNED"] * 2


def test_run_whose_start_fails_leaves_no_client_behind(exits: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark uses its process again: an unclosed consumer would stay in the group, and its threads alive."""
    consumers: list[Consumer] = []

    class Noted(Consumer):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            consumers.append(self)

    def fail(*_args: object) -> None:
        raise ConnectError("the stage does not start")

    monkeypatch.setattr(module, "Consumer", Noted)
    monkeypatch.setattr(TaskRun, "_open_places", fail)
    consumer = {"bootstrap.servers": "127.0.0.1:1", "log_level": "0", "group.id": "connect-c"}
    plan = replace(task_plan("sink"), sink=sink_plan(consumer=consumer))
    link: Any = Link()
    end = RunEnd(plan.name, EventQueue())
    TaskRun(Welcome(plan, is_paused=False), end, link, OWN_STAGES).execute()
    end.complete()
    assert link.states == ["FAILED"]
    assert [each._client for each in consumers] == [None]


def test_run_with_transactions_claims_them_before_it_waits_for_its_offsets(
    exits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a predecessor has left open is decided by then, and its stage starts when the host has read all of that."""
    happened: list[str] = []

    class Claimed:
        statistics = StatisticsKeeper()

        def __init__(self, config: dict[str, str]) -> None:
            happened.append(config["transactional.id"])

        def claim(self, is_over: Any) -> None:
            happened.append("claim")

        def close(self) -> None:
            happened.append("close")

    class Late(Link):
        def read_offsets(self, partitions: list[Any]) -> list[Any]:
            happened.append("read")
            if happened.count("read") < 3:
                raise RemoteError(ErrorInfo.of(RetriableError("somebody has a transaction open")))
            return []

    def start(*_args: object) -> None:
        happened.append("stage")
        raise ConnectError("enough")

    monkeypatch.setattr(module, "TransactionalProducer", Claimed)
    monkeypatch.setattr(TaskRun, "_open_places", start)
    transaction = TransactionPlan("g-c", ("offsets",), "poll", 60.0)
    plan = replace(task_plan("source"), source=SourcePlan({}, transaction=transaction))
    link: Any = Late()
    end = RunEnd(plan.name, EventQueue())
    TaskRun(Welcome(plan, is_paused=False), end, link, OWN_STAGES).execute()
    assert happened == ["g-c-0", "claim", "read", "read", "read", "stage", "close"]
    happened.clear()
    end.complete()
    TaskRun(Welcome(plan, is_paused=False), end, link, OWN_STAGES).execute()
    assert happened == ["g-c-0", "claim", "read", "close"], "who is to end does not wait"
    assert link.states == ["FAILED", "FAILED"]
