"""What a Java plugin does to its JVM fails its task, with the cause in the error."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from hearth.config.confinement_key import Confinement
from hearth.config.java_key import Jvm
from hearth.isolation.environment import Environment
from hearth.isolation.java_environment import java_environment
from hearth.isolation.stage import Stage
from hearth_api import PluginError
from hearth_execution.failure import RemoteError
from hearth_stage.channel import MessageSender
from hearth_stage.plugin_call import Configure, EndTenant, Load, Ping, WantedPlugin
from tests.java_sample import compile_sample


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Return the environment of the hostile plugin, with a small heap."""
    classes = tmp_path_factory.mktemp("classes")
    made = java_environment("odd", classes, compile_sample(Path(__file__).parent / "java", classes), "odd")
    return made.confined(Confinement(jvm=Jvm(options=("-Xmx48m",))))


def act(stage: Stage | MessageSender, how: str, timeout: float = 30.0) -> None:
    """Let the plugin act."""
    stage.call(Configure("sink", 0, 1), timeout)
    stage.call(Load([WantedPlugin("transforms.a", "odd.Hostile", "odd.Hostile", {"act": how})]), timeout)


@pytest.mark.parametrize(("how", "status"), [("exit", 3), ("halt", 4)])
def test_end_of_the_jvm_is_reported_with_its_status(environment: Environment, how: str, status: int) -> None:
    """It takes no other process with it."""
    with contextlib.closing(Stage.start(environment, "odd")) as stage:
        with pytest.raises(PluginError, match=f"the stage process of odd exited with {status}"):
            act(stage, how)
        assert stage.connection.await_end(10) == status


def test_full_heap_fails_the_call_alone(environment: Environment) -> None:
    """The stage goes on, as Java's worker does."""
    with contextlib.closing(Stage.start(environment, "odd")) as stage:
        with pytest.raises(RemoteError) as raised:
            act(stage, "fill")
        assert raised.value.info.class_name == "java.lang.OutOfMemoryError"
        stage.call(Ping())


def test_trace_of_a_hanging_call_has_the_stack(environment: Environment) -> None:
    """The deadline ends the JVM."""
    with contextlib.closing(Stage.start(environment, "odd")) as stage:
        stage.call(Ping())
        with pytest.raises(PluginError) as raised:
            act(stage, "hang", 1.0)
        assert "at odd.Hostile.waitForever(Hostile.java:" in f"{raised.value}\n{getattr(raised.value, 'trace', '')}"
        assert stage.connection.await_end(10) is not None


def test_trace_of_a_deadlock_names_its_threads_and_locks(environment: Environment) -> None:
    """And who holds what the others wait for."""
    with contextlib.closing(Stage.start(environment, "odd")) as stage:
        stage.call(Ping())
        with pytest.raises(PluginError) as raised:
            act(stage, "deadlock", 1.0)
        trace = f"{raised.value}\n{getattr(raised.value, 'trace', '')}"
    assert re.search(r"deadlock of the threads (main, hostile-other|hostile-other, main)\n", trace)
    assert re.search(r"thread main \(BLOCKED on java\.lang\.Object@\w+, which thread hostile-other holds\):", trace)
    assert "  holds java.lang.Object@" in trace


def test_threads_that_a_plugin_leaves_in_a_shared_jvm_are_named(
    environment: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing ends them but the JVM; a plugin that leaves none is not mentioned."""
    with contextlib.closing(Stage.start(environment, "odd")) as stage:
        for number, how in ((5, "none"), (6, "leave")):
            tenant = stage.connection.channel.of(number)
            act(tenant, how)
            tenant.call(EndTenant(), 30.0)
    found = [each.getMessage() for each in caplog.records if "threads still run" in each.getMessage()]
    assert found == ["the plugin was stopped and its threads still run: hostile-left"]
