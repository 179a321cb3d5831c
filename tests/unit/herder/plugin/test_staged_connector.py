"""Connector instances, most of them in one process: notifications, effects on each other, and ends."""

from __future__ import annotations

import logging
import os
import queue
import signal
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.discovery import Plugin, discover
from hearth.foundation.log_context import about, label_of_record
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.pool import StagePool
from hearth.herder.plugin.stage import answer_seconds, wants_apart
from hearth.herder.plugin.staged_connector import StagedConnector
from hearth.herder.sharing_history import SharingHistory
from hearth.isolation.environment import Environment
from hearth.isolation.environment_store import EnvironmentStore
from hearth_api import ConnectError, PluginError
from tests.bundles.build import plain_wheel
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.catalogue import WORKER

SECONDS = 60.0
"""Longer than anything that hangs is awaited."""

CODE = '''
import ctypes
import os
import threading
import time

from hearth_api import ConfigDef, SourceConnector, SourceTask

made = []
"""All instances of this process."""


def do(where, props):
    deed = props.get(where)
    if deed == "raise":
        raise RuntimeError(where + " does not work today")
    elif deed == "hang":
        threading.Event().wait()
    elif deed == "exit":
        os._exit(7)
    elif deed == "kill":
        os.kill(os.getpid(), 9)
    elif deed == "block":
        open(props["gate"], "w").close()
        ctypes.PyDLL(None).sleep(3600)
    elif deed == "print":
        for number in range(1_000_000):
            print("a long story " * 30, number)
    elif deed == "threads":
        for _ in range(20):
            threading.Thread(target=lambda: 1 / 0).start()
    elif deed == "later":
        threading.Timer(0.1, os._exit, [7]).start()
    elif deed == "wait":
        while not os.path.exists(props["gate"]):
            time.sleep(0.01)


class Connector(SourceConnector):
    def __init__(self):
        made.append(self)

    def version(self):
        return "1"

    def config(self):
        return ConfigDef()

    def start(self, props):
        print("start of", props["name"])
        self.props = dict(props)
        do("start", props)
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        print("watch of", self.props["name"])
        if "ask" in self.props:
            self.context.request_task_reconfiguration()
        if "complain" in self.props:
            self.context.raise_error(RuntimeError(self.props["complain"]))

    def task_class(self):
        return SourceTask

    def task_configs(self, max_tasks):
        do("task_configs", self.props)
        here = {"pid": str(os.getpid()), "thread": threading.current_thread().name, "made": str(len(made))}
        return [{**self.props, **here}]

    def stop(self):
        print("stop of", self.props["name"])
        do("stop", self.props)
        if self in made:
            made.remove(self)
'''
POINTS = {"hearth.source_connectors": {"org.example.MoodyConnector": "moody:Connector"}}


class Listener:
    """Records a connector's notifications."""

    def __init__(self) -> None:
        self.events: queue.Queue[str] = queue.Queue()

    def on_task_reconfiguration(self) -> None:
        """Record the request."""
        self.events.put("reconfiguration")

    def on_error(self, trace: str) -> None:
        """Record the error."""
        self.events.put(trace)

    def on_loss(self) -> None:
        """Record the loss."""
        self.events.put("loss")

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return no offsets."""
        return [None] * len(partitions)


class Moody:
    """A pool, and a connector that behaves as its configuration says."""

    def __init__(self, plugin: Plugin, environment: Environment) -> None:
        self.pool = StagePool()
        self.plugin, self.environment = plugin, environment
        self.conducts: dict[str, SharingHistory] = {}

    def take(self, name: str = "a", seconds: float = SECONDS) -> StagedConnector:
        """Return an instance."""
        sharing_history = self.conducts.setdefault(name, SharingHistory())
        return self.pool.take(self.plugin, self.environment, seconds, sharing_history)

    def start(
        self,
        name: str,
        props: Mapping[str, str] | None = None,
        listener: Listener | None = None,
        seconds: float = SECONDS,
    ) -> StagedConnector:
        """Return a started instance."""
        taken = self.take(name, seconds)
        with about(f"{name}|worker"):
            taken.start({"name": name, **(props or {})}, listener or Listener())
        return taken

    def lives(self, taken: StagedConnector) -> dict[str, str]:
        """Return the process id of a started instance."""
        (answer,) = taken.task_configs(1).configs
        return answer


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> PluginDirectory:
    """Provide a bundle with the connector."""
    root = tmp_path_factory.mktemp("path")
    plain_wheel(root, "moody", groups=POINTS, code=textwrap.dedent(CODE))
    found = discover([root], include_host=False)
    return PluginDirectory(lambda: found, EnvironmentStore(tmp_path_factory.mktemp("environments")))


@pytest.fixture
def moody(plugins: PluginDirectory) -> Iterator[Moody]:
    """Provide connectors, whose processes end with the test."""
    plugin = plugins.plugin("MoodyConnector", None)
    made = Moody(plugin, plugins.environment(plugin))
    yield made
    made.pool.close()


class Log(logging.Handler):
    """Records log messages and their labels."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str | None, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Record a message."""
        self.lines.append((label_of_record(record), record.getMessage()))


@pytest.fixture
def log() -> Iterator[Log]:
    """Record what is logged during the test."""
    made = Log()
    logging.getLogger().addHandler(made)
    yield made
    logging.getLogger().removeHandler(made)


def test_instances_share_a_process_on_their_own_threads(moody: Moody) -> None:
    """One that waits blocks no other, and is the same object from start to stop."""
    first, second = moody.start("a"), moody.start("b")
    one, other = moody.lives(first), moody.lives(second)
    assert (one["name"], other["name"]) == ("a", "b")
    assert one["pid"] == other["pid"]
    assert one["thread"] != other["thread"]
    assert moody.lives(first)["thread"] == one["thread"]


def test_a_call_does_not_wait_for_other_tenants(moody: Moody, tmp_path: Path) -> None:
    """However long their calls take."""
    gate = tmp_path / "gate"
    slow = moody.start("slow", {"task_configs": "wait", "gate": str(gate)})
    answers: queue.Queue[dict[str, str]] = queue.Queue()
    waiting = threading.Thread(target=lambda: answers.put(moody.lives(slow)))
    waiting.start()
    assert moody.lives(moody.start("b"))["name"] == "b"
    assert answers.empty()
    gate.touch()
    assert answers.get(timeout=TIMEOUT)["name"] == "slow"
    waiting.join()


def test_notifications_reach_the_listener_of_their_instance(moody: Moody) -> None:
    """From a thread that the instance started."""
    listeners = {name: Listener() for name in "abc"}
    moody.start("a", {"ask": "yes"}, listeners["a"])
    moody.start("b", {"complain": "no disk"}, listeners["b"])
    moody.start("c", listener=listeners["c"])
    assert listeners["a"].events.get(timeout=TIMEOUT) == "reconfiguration"
    assert "no disk" in listeners["b"].events.get(timeout=TIMEOUT)
    assert all(each.events.empty() for each in listeners.values())


def test_printed_lines_are_labelled_with_their_instance(moody: Moody, log: Log) -> None:
    """From its calls and threads, to the last line; so is the traceback of a thread that fails."""
    for name in "ab":
        taken = moody.start(name, {"start": "threads"})
        with about(f"{name}|worker"):
            taken.end()
    for name in "ab":
        lines = {(f"{name}|worker", f"{deed} of {name}") for deed in ("start", "watch", "stop")}
        lines.add((f"{name}|worker", "ZeroDivisionError: division by zero"))
        assert eventually(partial(are_in, log, lines), TIMEOUT)


def test_an_ended_instance_leaves_nothing(moody: Moody, log: Log) -> None:
    """Neither its object nor its thread; its own threads that still run are logged."""
    neighbour = moody.start("a")
    gone = [moody.start(f"gone-{number}") for number in range(5)]
    assert moody.lives(neighbour)["made"] == "6"
    for each in gone:
        each.end()
    assert moody.lives(neighbour)["made"] == "1"
    process = neighbour._stage._process if neighbour._stage else None
    assert process is not None
    assert list(process._tenants) == [1]
    stacks = str(process.stage.timed_out("nothing", 0).trace)
    assert stacks.count("thread stage-") == 1
    left = moody.start("left", {"start": "later"})
    with about("left|worker"):
        left.end()
    assert eventually(lambda: any("still run after it has ended: Thread-" in text for _, text in log.lines), TIMEOUT)


@pytest.mark.parametrize("call", ["start", "task_configs"])
def test_an_instance_that_raises_gets_its_own_process_next_time(moody: Moody, call: str, log: Log) -> None:
    """The error is raised at once, other tenants are not affected, and its next instance shares no process.

    The log omits the error's message, which may contain secrets.
    """
    listener = Listener()
    neighbour = moody.start("a", listener=listener)
    here = moody.lives(neighbour)["pid"]
    with pytest.raises(PluginError, match=f"{call} does not work today"):
        moody.lives(moody.start("bad", {call: "raise"}))
    assert moody.lives(neighbour)["pid"] == moody.lives(moody.start("b"))["pid"] == here
    assert moody.lives(moody.start("bad"))["pid"] != here
    assert listener.events.empty()
    lines = [text for _, text in log.lines]
    assert "the connector runs in its own process from now on: it raised an error" in lines
    assert not [each for each in lines if "does not work today" in each]


@pytest.mark.parametrize("call", ["start", "task_configs"])
def test_an_instance_that_hangs_is_moved_and_other_tenants_continue(moody: Moody, call: str) -> None:
    """It then hangs alone, which is reported; new tenants get a process in which nothing hangs."""
    listener = Listener()
    neighbour = moody.start("a", listener=listener)
    here = moody.lives(neighbour)["pid"]
    with pytest.raises(PluginError, match=f"did not answer 'connector.{call}' within 3 s"):
        moody.lives(moody.start("bad", {call: "hang"}, seconds=3.0))
    assert moody.lives(neighbour)["pid"] == here
    assert moody.lives(moody.start("b"))["pid"] != here
    assert listener.events.empty()
    neighbour.end()
    assert eventually(lambda: not is_there(int(here)), TIMEOUT)


@pytest.mark.parametrize(("call", "deed"), [("start", "exit"), ("task_configs", "kill")])
def test_tenants_lose_their_instances_when_one_ends_the_process(moody: Moody, call: str, deed: str) -> None:
    """They share the next process; the culprit, which had a pending call, gets its own."""
    listener = Listener()
    neighbour = moody.start("a", listener=listener)
    says = "exited with 7" if deed == "exit" else "killed by signal 9"
    with pytest.raises(PluginError, match=says):
        moody.lives(moody.start("bad", {call: deed}))
    assert listener.events.get(timeout=TIMEOUT) == "loss"
    assert not neighbour.is_alive
    neighbour.close()
    again, other = moody.start("a"), moody.start("b")
    assert moody.lives(again)["pid"] == moody.lives(other)["pid"]
    assert moody.conducts["a"] == SharingHistory()
    assert moody.conducts["bad"].is_apart


def test_repeated_unexplained_ends_give_every_tenant_its_own_process(moody: Moody) -> None:
    """No call is pending when it happens, so all are separated after the second time."""
    for _ in range(2):
        listeners = {name: Listener() for name in ("a", "bad")}
        for name, listener in listeners.items():
            moody.start(name, {"start": "later"} if name == "bad" else {}, listener)
        for listener in listeners.values():
            assert listener.events.get(timeout=TIMEOUT) == "loss"
    listeners = {name: Listener() for name in ("a", "bad")}
    good = moody.start("a", listener=listeners["a"])
    moody.start("bad", {"start": "later"}, listeners["bad"])
    assert "exited with 7" in listeners["bad"].events.get(timeout=TIMEOUT)
    assert moody.lives(good)["name"] == "a"
    assert listeners["a"].events.empty()


def test_a_call_blocked_by_another_tenant_is_repeated(
    moody: Moody, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One tenant holds the interpreter lock: pending calls are repeated elsewhere, others lose their process."""
    monkeypatch.setattr("hearth.isolation.shared_stage.MUTE_SECONDS", 0.5)
    silent = Listener()
    victim, _ = moody.start("a", seconds=5.0), moody.start("b", listener=silent)
    here = moody.lives(victim)["pid"]
    gate, failed = tmp_path / "gate", queue.Queue[Exception]()

    def block() -> None:
        try:
            moody.start("bad", {"start": "block", "gate": str(gate)}, seconds=6.0)
        except PluginError as error:
            failed.put(error)

    blocking = threading.Thread(target=block)
    blocking.start()
    assert eventually(gate.exists, TIMEOUT)
    assert moody.lives(victim)["pid"] != here
    assert silent.events.get(timeout=TIMEOUT) == "loss"
    assert "did not report its threads" in str(failed.get(timeout=TIMEOUT).trace)  # type: ignore[attr-defined]
    blocking.join()


def test_a_tenant_that_prints_without_end_does_not_block_others(moody: Moody, log: Log) -> None:
    """Its output is truncated; the others' calls are answered meanwhile, and their output is logged."""
    neighbour = moody.start("a")
    talking = threading.Thread(target=silently, args=[moody.start, "bad", {"start": "print"}])
    talking.start()
    assert eventually(lambda: len(log.lines) > 1_000, TIMEOUT)
    for name in "bcd":
        assert moody.lives(moody.start(name))["name"] == name
        assert moody.lives(neighbour)["name"] == "a"
        assert eventually(partial(are_in, log, {(f"{name}|worker", f"start of {name}")}), TIMEOUT)
    assert talking.is_alive()
    moody.pool.close()
    talking.join()


def test_an_instance_that_does_not_stop_is_abandoned(moody: Moody, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a timeout; errors of its stop are reported, and other tenants continue."""
    monkeypatch.setattr("hearth.herder.plugin.staged_connector.STOP_SECONDS", 0.3)
    neighbour = moody.start("a")
    with pytest.raises(PluginError, match="stop does not work today"):
        moody.start("bad", {"stop": "raise"}).end()
    with pytest.raises(PluginError, match=r"did not answer 'connector\.stop' within 0.3 s"):
        moody.start("worse", {"stop": "hang"}).end()
    assert moody.lives(neighbour)["name"] == "a"
    assert moody.conducts["bad"].is_apart
    assert moody.conducts["worse"].is_apart


def test_an_instance_that_never_started_is_not_stopped(moody: Moody, log: Log) -> None:
    """One that failed halfway is, once; and it may be started again."""
    taken = moody.take()
    taken.stop()
    for _ in range(2):
        taken.start({"name": "a"}, Listener())
        taken.stop()
        taken.stop()
    with pytest.raises(PluginError, match="start does not work today"):
        taken.start({"name": "a", "start": "raise"}, Listener())
    taken.end()
    assert eventually(lambda: [text for _, text in log.lines].count("stop of a") == 3, TIMEOUT)
    moody.start("b").end()
    assert [text for _, text in log.lines].count("stop of a") == 3


def test_an_instance_ended_while_it_hangs_is_ignored(moody: Moody) -> None:
    """Its pending call fails with that reason and is not repeated."""
    neighbour, taken = moody.start("a"), moody.take("bad")
    listener, failed = Listener(), queue.Queue[Exception]()

    def start() -> None:
        try:
            taken.start({"name": "bad", "start": "hang"}, listener)
        except ConnectError as error:
            failed.put(error)

    waiting = threading.Thread(target=start)
    waiting.start()
    assert eventually(lambda: taken._stage is not None and taken._stage.is_at_work, TIMEOUT)
    taken._may_run = False
    taken._stage._is_hung = True  # type: ignore[union-attr]
    taken.close()
    assert "has been ended" in str(failed.get(timeout=TIMEOUT))
    assert moody.lives(neighbour)["name"] == "a"
    waiting.join()


def test_a_stage_without_tenant_support_has_one(moody: Moody, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in another language need not support them."""
    monkeypatch.setattr("hearth.isolation.stage.Stage.takes_tenants", False)
    first, second = moody.start("a"), moody.start("b")
    assert moody.lives(first)["pid"] != moody.lives(second)["pid"]
    assert moody.lives(first)["thread"] == "MainThread"


def test_a_connector_in_its_own_process_runs_on_the_main_thread(moody: Moody) -> None:
    """So it may handle signals; the end of its process is its error."""
    listener = Listener()
    moody.conducts["a"] = SharingHistory(is_apart=True)
    taken = moody.start("a", listener=listener)
    lives = moody.lives(taken)
    assert lives["thread"] == "MainThread"
    os.kill(int(lives["pid"]), signal.SIGKILL)
    assert "killed by signal 9" in listener.events.get(timeout=TIMEOUT)


def test_the_time_limit_of_an_answer_is_that_of_the_request() -> None:
    """A connector may lower it; an invalid value is reported when it starts."""
    worker = WorkerConfig({**WORKER, "plugin.call.timeout.ms": "5000"})
    assert answer_seconds(worker, {}) == answer_seconds(worker, {"plugin.call.timeout.ms": "soon"}) == 5
    assert answer_seconds(worker, {"plugin.call.timeout.ms": "200"}) == 0.2
    assert answer_seconds(worker, {"plugin.call.timeout.ms": "3600000"}) == SECONDS
    assert [wants_apart(worker, {"plugin.isolation": each}) for each in ("connector", "environment", "x")] == [
        True, False, False,
    ]  # fmt: skip


def silently(act: Callable[..., object], *arguments: object) -> None:
    """Run an action that fails."""
    with pytest.raises(ConnectError):
        act(*arguments)


def are_in(log: Log, lines: set[tuple[str, str]]) -> bool:
    """Return whether all lines were logged."""
    return lines <= set(log.lines)


def is_there(pid: int) -> bool:
    """Return whether a process exists."""
    return Path(f"/proc/{pid}").exists()
