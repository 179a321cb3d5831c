"""Plugins of one environment share a process while none misbehaves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hearth.herder.plugin.pool import StagePool
from hearth.herder.plugin.stage import PluginStage
from hearth.herder.plugin.staged_connector import StagedConnector
from hearth.herder.sharing_history import SharingHistory
from hearth_api import ConnectError, PluginError
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.catalogue import SINK, SOURCE, directory

SECONDS = 60.0


class Plugins:
    """Takes connectors of a catalogue from a pool, and asks them."""

    def __init__(self, root: Path) -> None:
        self.pool = StagePool()
        self.directory = directory(root)
        self.plugin = self.directory.plugin(SOURCE, None)
        self.environment = self.directory.environment(self.plugin)

    def take(self, class_name: str = SOURCE, *, is_apart: bool = False) -> StagedConnector:
        """Return an instance of a connector."""
        plugin = self.directory.plugin(class_name, None)
        return self.pool.take(plugin, self.environment, SECONDS, SharingHistory(is_apart))

    def ask(self, deed: str = "", seconds: float = SECONDS, *, is_apart: bool = False) -> int:
        """Have a connector validate a configuration; return its process."""

        def question(stage: PluginStage, limit: float) -> int:
            stage.validate(self.plugin, {"topic": "t", "do.validate": deed}, limit)
            return process_of(stage)

        return self.pool.ask(self.plugin, self.environment, seconds, question, is_apart)


def timers() -> set[threading.Thread]:
    """Return the timers of this process."""
    return {each for each in threading.enumerate() if isinstance(each, threading.Timer)}


def process_of(asked: StagedConnector | PluginStage | None) -> int:
    """Return the process id of a connector."""
    stage = asked._stage if isinstance(asked, StagedConnector) else asked
    assert stage is not None
    return stage._process.stage.pid


@pytest.fixture
def plugins(tmp_path: Path) -> Iterator[Plugins]:
    """Provide connectors, whose processes end with the test."""
    made = Plugins(tmp_path)
    yield made
    made.pool.close()


def test_plugins_of_an_environment_share_a_process(plugins: Plugins) -> None:
    """All instances, also concurrent ones, and validations, except those that need their own process."""
    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(plugins.take, [SOURCE, SINK] * 4))
    assert len({process_of(each) for each in taken}) == 1
    assert plugins.ask() == process_of(taken[0])
    assert process_of(plugins.take(is_apart=True)) != process_of(taken[0])
    assert plugins.ask(is_apart=True) not in {process_of(each) for each in taken}


def test_a_plugin_returns_its_keys(plugins: Plugins) -> None:
    """An ordinary question."""
    pool, plugin = plugins.pool, plugins.plugin
    keys = pool.ask(plugin, plugins.environment, SECONDS, lambda stage, limit: stage.definitions(plugin, limit))
    assert [each["name"] for each in keys] == ["file", "topic", "batch.size"]


def test_a_shared_process_ends_after_an_idle_time(plugins: Plugins) -> None:
    """A connector usually starts right after its validation, and then finds the process running."""
    plugins.pool = StagePool(idle_seconds=4.0)
    first = plugins.take()
    process = first._stage._process if first._stage else None
    assert process is not None
    plugins.ask()
    first.end()
    assert process.is_alive
    before = timers()
    for _ in range(8):
        assert plugins.ask() == process.stage.pid
    assert len(timers() - before) <= 1, "of many questions one timer is left"
    assert eventually(lambda: not process.is_alive, TIMEOUT)
    assert plugins.ask() != process.stage.pid


def test_an_exclusive_process_ends_with_its_tenant(plugins: Plugins) -> None:
    """At once."""
    alone = plugins.take(is_apart=True)
    process = alone._stage._process if alone._stage else None
    assert process is not None
    alone.end()
    assert not process.is_alive


@pytest.mark.parametrize(
    ("deed", "says"), [("hang", "did not answer 'validate' within 1 s"), ("exit", "exited with 7")]
)
def test_a_failed_question_is_repeated_in_its_own_process(plugins: Plugins, deed: str, says: str) -> None:
    """Another tenant may have been the cause; a plugin that fails again always gets its own process."""
    neighbour = plugins.take()
    with pytest.raises(PluginError, match=says):
        plugins.ask(deed, 1.0)
    assert neighbour.is_alive == (deed == "hang")
    neighbour = plugins.take()
    with pytest.raises(PluginError, match=says):
        plugins.ask(deed, 1.0)
    assert neighbour.is_alive
    assert plugins.ask() != process_of(neighbour)


def test_a_process_with_a_plugin_that_hangs_gets_no_new_tenants(plugins: Plugins) -> None:
    """Present tenants continue; when they have left, it is killed."""
    neighbour = plugins.take()
    process = neighbour._stage._process if neighbour._stage else None
    assert process is not None
    with pytest.raises(PluginError):
        plugins.ask("hang", 0.5)
    assert process_of(plugins.take()) != process_of(neighbour)
    assert neighbour.is_alive
    neighbour.end()
    assert not process.is_alive


def test_an_error_of_a_plugin_is_its_answer(plugins: Plugins) -> None:
    """It is asked once, and the process remains shared."""
    neighbour = plugins.take()
    with pytest.raises(PluginError, match="validate does not work today"):
        plugins.ask("raise")
    assert plugins.ask() == process_of(neighbour)


def test_closed_pool_leaves_no_process(plugins: Plugins) -> None:
    """Neither shared nor exclusive, and later requests start none."""
    shared, alone = plugins.take(), plugins.take(is_apart=True)
    plugins.pool.close()
    assert not shared.is_alive
    assert not alone.is_alive
    late: list[Callable[[], object]] = [plugins.take, lambda: plugins.take(is_apart=True), plugins.ask]
    for act in late:
        with pytest.raises(ConnectError, match="the host is stopping"):
            act()
