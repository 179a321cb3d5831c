"""A source task that runs without Kafka: its results, their order, and how it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth.isolation.environment_store import python_environment
from hearth.isolation.interpreter import host
from hearth.staging.place import PlaceOpener
from hearth.staging.plugin_plan import PluginPlan, PluginSpec
from hearth.staging.polled_task import PolledTask, Transformed
from hearth.staging.source_stage import Idle
from hearth_api import ConnectError, PluginError
from hearth_execution.failure import RemoteError
from hearth_execution.retry import Retry
from hearth_stage.channel import Request
from hearth_stage.task_call import PollsEmpty
from tests.unit.runtime.sample import SETTINGS, plugin

FILE = Path(__file__).parents[3] / "plugins" / "file" / "src"
SAMPLES = Path(__file__).parents[2] / "samples"
LONG = 30.0
SOURCE = """
import os, signal, time
from hearth_api import ConfigDef, RetriableError, SourceConnector, SourceRecord, SourceTask

class Task(SourceTask):
    def version(self): return "1"
    def start(self, props): self.acts, self.number = props["acts"].split(), 0
    def poll(self):
        act = self.acts.pop(0) if self.acts else "nothing"
        if act == "fail": raise RuntimeError("the source is broken")
        if act == "retry": raise RetriableError("again")
        if act == "die": os.kill(os.getpid(), signal.SIGKILL)
        if act == "hang": time.sleep(60)
        if act == "nothing":
            time.sleep(0.005)
            return None
        self.number += 1
        value = act if act == "bad" else f"{act} {self.number}"
        return [SourceRecord({"p": 1}, {"at": self.number}, "t", value=value)]
    def stop(self): pass

class Connector(SourceConnector):
    def version(self): return "1"
    def config(self): return ConfigDef()
    def start(self, props): pass
    def stop(self): pass
    def task_class(self): return Task
    def task_configs(self, most): return [{}]
"""

Start = Callable[..., PolledTask]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a task with a certain configuration."""
    (tmp_path / "acting.py").write_text(SOURCE)
    places = {"acting": str(tmp_path), "samples": str(SAMPLES)}
    environments = {key: python_environment(key, host(), (path,)) for key, path in places.items()}
    with ExitStack() as opened:

        def started(acts: str, *steps: PluginSpec, idle: Idle | None = None, **settings: Any) -> PolledTask:
            task = PluginSpec("task", "acting.Connector", "acting:Connector", "1", "acting")
            own = replace(SETTINGS, **settings)
            plan = PluginPlan("c", 0, "source", "acting.Connector", (task, *steps), environments, {"acts": acts}, own)
            run = PolledTask(plan, lambda partitions: [None] * len(partitions), idle=idle)
            run.open(opened)
            return run

        yield started


def values(taken: Transformed | PollsEmpty | None) -> list[Any]:
    """Return the values of a result."""
    assert isinstance(taken, Transformed)
    return [value for each in taken.batches for value in each.column("value").to_pylist()]


def test_records_keep_poll_order_and_source_positions(start: Start) -> None:
    """Even far more of them than the stage may send in advance: each call of take grants credit."""
    run = start("go " * 40)
    taken = [run.take(LONG) for _ in range(40)]
    assert [values(each) for each in taken] == [[f'"go {number}"'] for number in range(1, 41)]
    last = taken[-1]
    assert isinstance(last, Transformed)
    assert last.origins[0].column("source_offset").to_pylist() == ['{"at":40}']


def test_empty_polls_are_reported_after_all_records(start: Start) -> None:
    """Once, and again after later records: everything before has been returned then."""
    run = start("go go nothing nothing nothing go", idle=Idle(0))
    assert [type(run.take(LONG)) for _ in range(5)] == [Transformed, Transformed, PollsEmpty, Transformed, PollsEmpty]
    assert run.take(0.2) is None


def test_empty_polls_are_not_reported_by_default(start: Start) -> None:
    """A task between Kafka and a source pays nothing for it."""
    run = start("nothing")
    assert run.take(0.2) is None


def test_transformations_outside_the_stage_run_and_report_failures(start: Start) -> None:
    """The failed rows are reported, the others pass."""
    run = start("go bad go", plugin("transforms.up", "Upper", "samples"))
    taken = [run.take(LONG) for _ in range(3)]
    assert [values(each) for each in taken] == [['"GO 1"'], [], ['"GO 3"']]
    assert [len(each.failures) for each in taken if isinstance(each, Transformed)] == [0, 1, 0]


def test_error_of_the_task_is_raised(start: Start) -> None:
    """After what it returned before."""
    run = start("go fail")
    assert values(run.take(LONG)) == ['"go 1"']
    with pytest.raises(RemoteError, match="the source is broken"):
        run.take(LONG)


def test_task_with_a_retriable_poll_is_not_idle(start: Start) -> None:
    """It may have records: nothing is reported until the next poll is empty."""
    run = start("retry retry go", idle=Idle(0))
    assert values(run.take(LONG)) == ['"go 1"']


def test_end_of_the_process_is_raised(start: Start) -> None:
    """With its reason."""
    with pytest.raises(PluginError, match="signal 9"):
        start("die").take(LONG)


def test_hanging_poll_is_raised(start: Start) -> None:
    """Within the timeout of a call."""
    with pytest.raises(ConnectError, match="poll"):
        start("hang", call_timeout=3.0, graceful_timeout=0.1).take(LONG)


def test_wait_can_be_ended_by_another_thread(start: Start) -> None:
    """By another thread."""
    run = start("nothing")
    threading.Timer(0.1, run.wake).start()
    began = time.monotonic()
    assert run.take(LONG) is None
    assert time.monotonic() - began < LONG / 2


def test_stages_that_cannot_start_are_ended_with_the_stack(tmp_path: Path) -> None:
    """Nothing remains if the second of two environments cannot be loaded."""
    (tmp_path / "acting.py").write_text(SOURCE)
    good = python_environment("acting", host(), (str(tmp_path),))
    (tmp_path / "nothing").mkdir()
    empty = python_environment("empty", host(), (str(tmp_path / "nothing"),))
    task = PluginSpec("task", "acting.Connector", "acting:Connector", "1", "acting")
    missing = PluginSpec("transforms.a", "no.Such", "no_such:Such", "1", "empty")
    plan = PluginPlan(
        "c", 0, "source", "acting.Connector", (task, missing), {"acting": good, "empty": empty}, {}, SETTINGS
    )
    begun: list[Any] = []
    with pytest.raises(PluginError, match="no_such"), ExitStack() as opened:
        PlaceOpener(plan, _refuse, begun.append, Retry(0, 0), begun.append).open(opened)
    assert len(begun) >= 2
    assert not any(each.is_alive for each in begun)


def _refuse(request: Request) -> None:
    request.fail(LookupError(request.op))
