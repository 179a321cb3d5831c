"""Plugins of several tasks in one real stage process: what one of them can do to the others, which is little."""

from __future__ import annotations

import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.foundation.log_context import current_label
from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.isolation.stage import RemoteError, Stage
from hearth.isolation.stage_tenant import StageLost, TenantStages
from hearth_api import PluginError
from hearth_stage.channel import Request
from hearth_stage.plugin_call import Configure, Describe
from hearth_stage.task_call import AddCredit, PollFailed, StartSource
from tests.timeouts import TIMEOUT, eventually

PLUGIN = """
import os, sys, threading, time
from hearth_api import ConfigDef, SourceConnector, SourceTask

class Doer:
    def version(self):
        return str(os.getpid())

class Sleeper(Doer):
    def version(self):
        threading.Event().wait()

class Leaver(Doer):
    def version(self):
        sys.exit(7)

class Source(SourceConnector):
    def version(self): return "1"
    def config(self): return ConfigDef()
    def start(self, props): pass
    def task_class(self): return Task
    def task_configs(self, most): return []
    def stop(self): pass

class Task(SourceTask):
    def version(self): return "1"
    def start(self, props): self.props = props
    def stop(self): open(self.props["file"], "w").close()
    def poll(self):
        if "liar" in self.props:
            from hearth_stage.task_call import HandOver
            channel = self.context.offset_storage_reader()._channel
            channel._channel.send({"op": "source.batches", "tenant": channel._tenant, "args": {"groups": "none"}})
            time.sleep(0.2)
            return None
        sys.exit(7)
"""


class Tasks:
    """Opens stages as tasks do, all in one environment, and records their notifications."""

    def __init__(self, folder: Path) -> None:
        (folder / "plugin.py").write_text(PLUGIN)
        self.stages = TenantStages()
        self.heard: queue.Queue[tuple[str | None, Any]] = queue.Queue()
        self.dead: queue.Queue[Stage] = queue.Queue()
        self._environment = python_environment("test", host(), (str(folder),))

    def open(self, name: str, limit: float = TIMEOUT) -> Stage:
        """Return a new stage that is ready for plugins."""

        def hear(request: Request) -> None:
            self.heard.put((current_label(), request.message))

        stage = self.stages.open(self._environment, name, hear, self.dead.put, limit, name)
        stage.await_hello()
        stage.call(Configure("source", 0, 0))
        return stage

    def start(self, name: str, folder: Path, **props: str) -> Stage:
        """Return a stage with a source task that is polled."""
        stage = self.open(name)
        stage.call(StartSource("plugin:Source", {"file": str(folder / name), **props}, []))
        stage.notify(AddCredit(1))
        return stage


def process_of(stage: Stage) -> int:
    """Return the process that a plugin reports."""
    return int(stage.call(Describe("plugin:Doer")).version or 0)


@pytest.fixture
def tasks(tmp_path: Path) -> Iterator[Tasks]:
    """Provide tasks, whose processes end with the test."""
    made = Tasks(tmp_path)
    yield made
    made.stages.close()


def wait_for(act: Callable[[], object], kind: type[Exception]) -> queue.Queue[Exception]:
    """Call a function that raises on another thread; returns a future of the error."""
    raised: queue.Queue[Exception] = queue.Queue()

    def run() -> None:
        try:
            act()
        except kind as error:
            raised.put(error)

    threading.Thread(target=run, daemon=True).start()
    return raised


def test_hanging_call_does_not_block_other_tenants(tasks: Tasks) -> None:
    """Its caller has to restart, elsewhere; the others continue, and later ones get another process."""
    good, bad = tasks.open("good"), tasks.open("bad", limit=0.3)
    assert process_of(good) == process_of(bad) == good.pid
    with pytest.raises(StageLost, match=r"of bad did not answer 'describe' within 0\.3 s, which it shares") as raised:
        bad.call(Describe("plugin:Sleeper"))
    assert raised.value.is_suspect
    assert "Event().wait()" in (raised.value.trace or "")
    bad.close()
    assert process_of(good) == good.pid
    late = tasks.open("late")
    assert late.pid != good.pid
    assert tasks.dead.empty()
    good.close()
    assert eventually(lambda: not good.is_alive, TIMEOUT), "what hangs is left when nobody shares its process any more"
    assert process_of(late) == late.pid


def test_all_tenants_are_notified_of_the_end_of_the_process(tasks: Tasks) -> None:
    """Every waiting call, every later call, and tenants without a call; no tenant is blamed."""
    asking, silent = tasks.open("asking"), tasks.open("silent")
    raised = wait_for(lambda: asking.call(Describe("plugin:Sleeper")), StageLost)
    process_of(silent)
    os.kill(asking.pid, signal.SIGKILL)
    assert {tasks.dead.get(timeout=TIMEOUT), tasks.dead.get(timeout=TIMEOUT)} == {asking, silent}
    for error in (raised.get(timeout=TIMEOUT), silent.died(), asking.died()):
        assert isinstance(error, StageLost)
        assert not error.is_suspect
        assert "was killed by signal 9, which it shares with others" in str(error)
    assert not silent.is_alive
    silent.close()
    assert process_of(again := tasks.open("again")) == again.pid


def test_sys_exit_in_a_shared_process_fails_its_call_only(tasks: Tasks, tmp_path: Path) -> None:
    """In a separate process it would exit; here it counts as an error."""
    stage = tasks.open("a")
    with pytest.raises(RemoteError, match=r"tried to exit the process, which others share: SystemExit\(7\)"):
        stage.call(Describe("plugin:Leaver"))
    tasks.start("b", tmp_path)
    label, message = tasks.heard.get(timeout=TIMEOUT)
    assert label == "b"
    assert isinstance(message, PollFailed)
    assert "SystemExit(7)" in message.error.message
    assert process_of(stage) == stage.pid


def test_tenant_with_a_malformed_message_is_lost_alone(tasks: Tasks, tmp_path: Path) -> None:
    """The connection belongs to the other tenants as well."""
    good, bad = tasks.open("good"), tasks.start("bad", tmp_path, liar="yes")
    assert tasks.dead.get(timeout=TIMEOUT) is bad
    error = bad.died()
    assert isinstance(error, StageLost)
    assert error.is_suspect
    assert "of bad broke the protocol" in str(error)
    assert not bad.is_alive
    assert process_of(good) == good.pid


def test_leaving_task_is_stopped_and_the_others_stay(tasks: Tasks, tmp_path: Path) -> None:
    """Its stage is closed like an unshared one, whose task is stopped when the connection ends."""
    good, gone = tasks.open("good"), tasks.start("gone", tmp_path)
    gone.close()
    assert (tmp_path / "gone").exists()
    gone.close()
    assert process_of(good) == good.pid
    assert tasks.dead.empty()


def test_killing_a_tenant_ends_its_waits(tasks: Tasks) -> None:
    """It did not stop in time: its run ends, and the hanging call stays until the others are gone."""
    good, bad = tasks.open("good"), tasks.open("bad")
    raised = wait_for(lambda: bad.call(Describe("plugin:Sleeper")), PluginError)
    process_of(good)
    bad.kill()
    bad.kill()
    assert "the plugins of bad did not stop in time" in str(raised.get(timeout=TIMEOUT))
    bad.close()
    assert process_of(good) == good.pid
