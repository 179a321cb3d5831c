"""Processes in which plugins are asked and connectors live: what they say, and when they end."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.herder.plugin.stage import ConnectorStage, StagePool, answer_seconds
from hearth.isolation.environment import Environment
from hearth_api import ConnectError, PluginError
from tests.peer.rest import eventually
from tests.unit.herder.catalogue import SINK, SOURCE, WORKER, directory

WAIT = 30.0
SECONDS = 60.0
CONFIG = {"topic": "t"}


class Listener:
    """Notes what a connector says."""

    def __init__(self) -> None:
        self.said: queue.Queue[str] = queue.Queue()

    def on_task_reconfiguration(self) -> None:
        """Note that it wants to be asked again."""
        self.said.put("reconfiguration")

    def on_error(self, trace: str) -> None:
        """Note its error."""
        self.said.put(trace)

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Have none."""
        return [None] * len(partitions)


class Plugins:
    """Takes the connectors of a catalogue from a pool."""

    def __init__(self, root: Path) -> None:
        self.pool = StagePool()
        self._directory = directory(root)

    @property
    def environment(self) -> Environment:
        """Return the environment of all plugins here."""
        return self._directory.environment(self._directory.plugin(SOURCE, None))

    def take(
        self, class_name: str = SOURCE, pool: StagePool | None = None, seconds: float = SECONDS
    ) -> ConnectorStage:
        """Return an instance of a connector."""
        plugin = self._directory.plugin(class_name, None)
        return (pool or self.pool).take(plugin, self.environment, seconds)


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Plugins]:
    """Provide connectors, whose processes end with the test."""
    made = Plugins(tmp_path)
    yield made
    made.pool.close()


def test_connector_says_what_it_is_and_what_it_wants(plugins: Plugins) -> None:
    """All of it in a process of its own."""
    stage = plugins.take()
    assert stage.version == "4.3.1"
    assert [each["name"] for each in stage.definitions(stage.plugin, SECONDS)] == ["file", "topic", "batch.size"]
    stage.start({**CONFIG, "tasks": "2"}, Listener())
    assert [each["number"] for each in stage.task_configs(5).configs] == ["0", "1"]
    stage.end()
    assert not stage.is_alive


def test_running_connector_is_heard(plugins: Plugins) -> None:
    """It asks to be asked again, and it says that it cannot go on."""
    listener = Listener()
    plugins.take().start({**CONFIG, "ask": "yes", "complain": "no disk"}, listener)
    assert listener.said.get(timeout=WAIT) == "reconfiguration"
    assert "no disk" in listener.said.get(timeout=WAIT)


def test_process_of_a_running_connector_that_ends_is_an_error_of_it(plugins: Plugins) -> None:
    """Nobody may be calling it at that moment; a process that is closed here has no such error."""
    listener, silent = Listener(), Listener()
    stage, closed = plugins.take(), plugins.take()
    stage.start({**CONFIG, "do.task.configs": "exit"}, listener)
    closed.start(CONFIG, silent)
    with pytest.raises(PluginError, match="exited with 7"):
        stage.task_configs(1)
    assert "exited with 7" in listener.said.get(timeout=WAIT)
    closed.end()
    assert silent.said.empty()


def test_connector_that_never_started_is_not_stopped(plugins: Plugins, tmp_path: Path) -> None:
    """One that failed half-way is, once; and may be started again."""
    trace = tmp_path / "stopped"
    stage = plugins.take()
    stage.stop()
    config = {**CONFIG, "stopped.file": str(trace)}
    for _ in range(2):
        stage.start(config, Listener())
        stage.stop()
        stage.stop()
    assert trace.read_text() == "stopped\n" * 2


def test_process_ends_also_when_its_connector_cannot_be_stopped(plugins: Plugins) -> None:
    """What went wrong is told."""
    stage = plugins.take()
    stage.start({**CONFIG, "do.stop": "raise"}, Listener())
    with pytest.raises(PluginError, match="stop does not work today"):
        stage.end()
    assert not stage.is_alive


def test_call_that_takes_too_long_is_an_error(plugins: Plugins) -> None:
    """However long the connector would go on."""
    stage = plugins.take()
    stage.seconds = 0.5
    with pytest.raises(PluginError, match=r"did not answer 'connector\.start' within"):
        stage.start({**CONFIG, "do.start": "hang"}, Listener())


def test_idle_process_of_the_same_connector_is_taken_again(plugins: Plugins) -> None:
    """With the time that its new holder allows; another connector gets another."""
    stage = plugins.take()
    assert plugins.take() is not stage
    plugins.pool.give(stage)
    assert plugins.take(SINK) is not stage
    assert plugins.take(seconds=7) is stage
    assert stage.seconds == 7


def test_process_that_ended_while_it_was_idle_is_not_taken(plugins: Plugins) -> None:
    """Nor is one taken back."""
    stage = plugins.take()
    plugins.pool.give(stage)
    stage.close()
    assert plugins.take() is not stage


def test_process_that_failed_to_answer_is_ended(plugins: Plugins) -> None:
    """Whatever is wrong with it would be the next one's trouble; one that answered is kept."""
    stage = plugins.take()
    assert plugins.pool.ask(stage, lambda each: each.version) == "4.3.1"
    assert plugins.take() is stage

    def refuse(_: ConnectorStage) -> None:
        raise PluginError("no")

    with pytest.raises(PluginError, match="no"):
        plugins.pool.ask(stage, refuse)
    assert not stage.is_alive


def test_closed_pool_leaves_no_process(plugins: Plugins) -> None:
    """Neither taken nor idle, and none that is given back or asked for later."""
    pool = StagePool()
    taken, idle = plugins.take(pool=pool), plugins.take(pool=pool)
    pool.give(idle)
    pool.close()
    assert not taken.is_alive
    assert not idle.is_alive
    late = plugins.take()
    pool.give(late)
    assert not late.is_alive
    with pytest.raises(ConnectError, match="the host is stopping"):
        plugins.take(pool=pool)


def test_a_process_given_back_again_waits_its_full_time(plugins: Plugins) -> None:
    """Each question to it begins its time anew, and of many questions one timer is left."""
    pool, environment = StagePool(idle_seconds=0.6), plugins.environment
    stage, before = pool.take_any(environment, "first"), threading.active_count()
    try:
        for _ in range(8):
            pool.give(stage)
            time.sleep(0.1)
            assert pool.take_any(environment, "another") is stage
        pool.give(stage)
        assert threading.active_count() <= before + 2
        assert eventually(lambda: not stage.is_alive, 10)
    finally:
        pool.close()


def test_plugin_has_no_longer_for_an_answer_than_whoever_asks() -> None:
    """A connector may allow less; a limit that cannot be read is the start's affair."""
    worker = WorkerConfig({**WORKER, "plugin.call.timeout.ms": "5000"})
    assert answer_seconds(worker, {}) == answer_seconds(worker, {"plugin.call.timeout.ms": "soon"}) == 5
    assert answer_seconds(worker, {"plugin.call.timeout.ms": "200"}) == 0.2
    assert answer_seconds(worker, {"plugin.call.timeout.ms": "3600000"}) == SECONDS
