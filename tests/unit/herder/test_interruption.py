"""Bundles that hang: a request to stop or replace such a connector is carried out in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from hearth.discovery import discover
from hearth.herder import herder
from hearth.herder.plugin import staged_connector
from hearth.isolation.stage import Stage
from hearth.storage import RestartRequest, State, TargetState
from hearth_api import ConnectError, NotFoundError
from tests.bundles.build import plain_wheel
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.fake import Bench

CODE = """
import pathlib
import threading

from hearth_api import ConfigDef, SourceConnector, SourceTask


def hang_if(where):
    if pathlib.Path({flag!r}, where).exists():
        pathlib.Path({flag!r}, "hangs").touch()
        threading.Event().wait()


hang_if("import")


class Task(SourceTask):
    def version(self): return "1"
    def start(self, props): pass
    def poll(self): pass
    def stop(self): pass


class Connector(SourceConnector):
    def __init__(self): hang_if("init")
    def version(self): return "1"
    def config(self): return ConfigDef()
    def start(self, props): hang_if("start")
    def task_class(self): return Task
    def task_configs(self, max_tasks):
        hang_if("task_configs")
        return [{{}}]
    def stop(self): hang_if("stop")
"""
POINTS = {"hearth.source_connectors": {"org.example.MoodyConnector": "moody:Connector"}}
CONFIG = {"name": "c", "connector.class": "MoodyConnector"}
LOADING = ["import", "init"]
ANYWHERE = [*LOADING, "start", "task_configs"]


def config(where: str = "") -> dict[str, str]:
    """Return the configuration of a connector; one that is imported again each time shares no process."""
    return CONFIG | ({"plugin.isolation": "connector"} if where == "import" else {})


class Moody:
    """A herder with one bundle that hangs where a test requests it, and a call timeout of five minutes.

    Its folder has the bundle and its environment, which all tests use.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bench = Bench(root, None, *discover([root / "path"], include_host=False).plugins)
        self.herder = self.bench.herder
        self.herder._queues._interrupt_after = 0.2

    def hang(self, where: str) -> None:
        """Hang there from now on."""
        (self.root / where).touch()

    def behave(self) -> None:
        """Hang nowhere, and forget that anything hangs."""
        for where in (*ANYWHERE, "stop", "hangs"):
            (self.root / where).unlink(missing_ok=True)

    def run(self, where: str = "") -> None:
        """Start the connector that will hang there."""
        self.herder.put("c", config(where)).result(30)
        self.bench.await_task("c", State.RUNNING)

    def begin_to_hang(self, where: str) -> Future[Any]:
        """Restart the connector, whose new instance hangs; return the pending result."""
        self.run(where)
        self.hang(where)
        answer = self.herder.restart_connector("c")
        assert eventually((self.root / "hangs").exists, TIMEOUT)
        return answer

    @property
    def state(self) -> str:
        """Return what REST shows of the connector."""
        return str(self.bench.connector("c")["connector"]["state"])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a folder with the bundle."""
    root = tmp_path_factory.mktemp("moody")
    (root / "path").mkdir()
    plain_wheel(root / "path", "moody", groups=POINTS, code=CODE.format(flag=str(root)))
    return root


@pytest.fixture
def moody(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Moody]:
    """Provide a herder with one bundle whose process is killed at once if it hangs."""
    monkeypatch.setattr(Stage, "close", partialmethod(Stage.close, grace=0.1))
    made = Moody(root)
    yield made
    made.behave()
    made.herder.shut_down()


@pytest.mark.parametrize("where", ANYWHERE)
def test_a_connector_that_hangs_is_deleted_in_time(moody: Moody, where: str) -> None:
    """Even while its class is loading and there is no instance yet; the pending request fails with the reason."""
    hanging = moody.begin_to_hang(where)
    moody.herder.delete("c").result(30)
    assert moody.herder.connectors() == []
    with pytest.raises(NotFoundError):
        moody.bench.connector("c")
    says = "does not say what its tasks are" if where == "task_configs" else "Failed to transition connector c"
    with pytest.raises(ConnectError, match=says):
        hanging.result(30)


ENDING: list[Callable[[Moody], Future[Any]]] = [
    lambda moody: moody.herder.put("c", {**CONFIG, "new": "1"}),
    lambda moody: moody.herder.patch("c", {"new": "1"}),
    lambda moody: moody.herder.restart_connector("c"),
    lambda moody: moody.herder.restart(RestartRequest("c", include_tasks=True)),
    lambda moody: moody.herder.restart(RestartRequest("c", only_failed=True)),
]


@pytest.mark.parametrize("act", ENDING, ids=["put", "patch", "restart", "restart with tasks", "restart of failed"])
@pytest.mark.parametrize("where", ANYWHERE)
def test_a_connector_that_hangs_is_restarted_in_time(
    moody: Moody, where: str, act: Callable[[Moody], Future[Any]]
) -> None:
    """With the new configuration, if there is one; the interrupted request fails."""
    moody.begin_to_hang(where)
    moody.behave()
    act(moody).result(30)
    assert eventually(lambda: moody.state == "RUNNING", TIMEOUT)
    moody.bench.await_task("c", State.RUNNING)


@pytest.mark.parametrize("tasks", [True, False], ids=["with tasks", "of failed"])
@pytest.mark.parametrize("where", ANYWHERE)
def test_a_restart_with_flags_returns_while_the_connector_hangs(
    moody: Moody, where: str, tasks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in Java, whose leader writes the request and returns the plan; the restart follows asynchronously."""
    monkeypatch.setattr(herder, "_RESTART_SECONDS", 0.2)
    moody.begin_to_hang(where)
    moody.herder._queues._interrupt_after = 3600.0
    for _ in range(2):  # neither waits for the other's restart
        plan = moody.herder.restart(RestartRequest("c", only_failed=not tasks, include_tasks=tasks)).result(TIMEOUT)
        assert plan["name"] == "c"
        assert (plan["connector"]["state"], plan["tasks"][0]["state"]) == (
            ("RESTARTING", "RESTARTING") if tasks else (moody.state, "RUNNING")
        )


@pytest.mark.parametrize("act", ENDING[2:4], ids=["restart", "restart with tasks"])
def test_a_restart_is_not_interrupted_by_its_own_request(moody: Moody, act: Callable[[Moody], Future[Any]]) -> None:
    """A plugin that is slow to start has its full timeout while no other request waits."""
    moody.run()
    moody.hang("start")
    act(moody)
    assert eventually((moody.root / "hangs").exists, TIMEOUT)
    time.sleep(3 * moody.herder._queues._interrupt_after)
    assert moody.state == "RESTARTING"


@pytest.mark.parametrize("where", ANYWHERE)
def test_a_connector_that_hangs_is_stopped_in_time(moody: Moody, where: str) -> None:
    """Stopping it also ends its instance."""
    moody.begin_to_hang(where)
    moody.herder.want("c", TargetState.STOPPED).result(30)
    assert moody.state == "STOPPED"
    assert moody.bench.connector("c")["tasks"] == []


def test_the_status_of_an_interrupted_connector_shows_where_it_hung(moody: Moody) -> None:
    """Its author needs the stack trace."""
    moody.begin_to_hang("import")
    moody.herder._queues.submit("c", lambda: None, is_impatient=True).result(30)
    trace = moody.bench.connector("c")["connector"]["trace"]
    assert "did not answer 'connector.load' within" in trace
    assert 'hang_if("import")' in trace


@pytest.mark.parametrize("where", LOADING)
def test_a_validation_that_hangs_blocks_no_request(moody: Moody, where: str) -> None:
    """A validation stops nothing, and no other request waits for it."""
    moody.run(where)
    moody.hang(where)
    moody.herder._queues._interrupt_after = 3600.0
    asked = moody.herder.put("c", {**config(where), "new": "1"})
    moody.herder.restart_task("c", 0).result(30)
    moody.herder.want("c", TargetState.PAUSED).result(30)
    assert moody.state == "PAUSED"
    moody.herder.delete("c").result(30)
    assert not asked.done()


def test_a_rejected_configuration_stops_nothing(moody: Moody, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow instance keeps starting although an invalid configuration arrives meanwhile."""
    hanging = moody.begin_to_hang("start")
    with pytest.raises(ConnectError, match="Not a number of type INT"):
        moody.herder.put("c", {**CONFIG, "tasks.max": "many"}).result(30)
    with pytest.raises(ConnectError, match="contains no connector type"):
        moody.herder.patch("c", {"connector.class": None}).result(30)
    assert not hanging.done()
    monkeypatch.setattr(staged_connector, "STOP_SECONDS", 0.1)  # nor does it react to a stop


def test_a_patch_does_not_revert_a_concurrent_put(moody: Moody, monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes its keys in the configuration that the other request has stored."""
    moody.run()
    examine = moody.herder._validator.examine

    def examine_slowly(config: Any) -> Any:
        monkeypatch.undo()
        moody.herder.put("c", {**CONFIG, "theirs": "1"}).result(30)
        return examine(config)

    monkeypatch.setattr(moody.herder._validator, "examine", examine_slowly)
    info = moody.herder.patch("c", {"mine": "1"}).result(30).info
    assert info["config"] == moody.herder.view.info("c")["config"] == {**CONFIG, "theirs": "1", "mine": "1"}
