"""The shared process of tasks: its start, its notifications and its end.

Workers are forked here as Spark's daemon forks them; a run does what its connector's name says.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.isolation.forked_process import is_able
from hearth.runtime.shared_runtime import ENDED
from tests.crash.process import find, tree
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.skipif(not is_able(), reason="sharing processes requires Linux 5.3 or later")

DAEMON = """
import json, logging, os, signal, sys, threading
import hearth.runtime.end
import hearth.runtime.shared_runtime as module
from hearth.foundation.log_context import current_label
from hearth.isolation.forked_process import fork_server_directory
from hearth.link.admission import LinkAddress
from hearth.runtime.launcher import RunLoss, TaskLaunch
from hearth.runtime.task_log import begin_task_log
from hearth.spark.worker_daemon import adopt_orphans

def say(**facts):
    os.write(1, (json.dumps({**facts, "pid": os.getpid()}) + "\\n").encode())

def run_task(launch, found, task_log, end=None, open_stage=None):
    say(runs=launch.connector, shared=end is not None, threads=threading.active_count())
    if "lose" in launch.connector:
        return RunLoss("lost", was_shared=True, is_suspect=True)
    if "raise" in launch.connector:
        raise ValueError("no such member")
    if "exit" in launch.connector:
        sys.exit(3)
    if "wait" in launch.connector:
        end.begun.wait()
        say(ends=launch.connector, events=[str(item) for item in end.event_queue.take()])
    if end is not None:
        end.complete()
    return None

def start(thread):
    if "hopeless" in thread.name:
        raise RuntimeError("can't start new thread")
    begin(thread)

begin, threading.Thread.start = threading.Thread.start, start
module.run_task = run_task
for name, value in json.loads(sys.argv[1]).items():
    setattr(module if hasattr(module, name) else hearth.runtime.end, name, value)
fork_server_directory()
adopt_orphans()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
spark, _ = os.pipe()
for line in sys.stdin:
    connector, shares = line.split()
    if os.fork() == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        launch = TaskLaunch(connector, 0, 1, LinkAddress("127.0.0.1", 1, "token", "certificate"), shares)
        say(worker=connector)
        loss = module.run_shared(launch, None, begin_task_log())
        say(over=connector, loss=loss and [loss.reason, loss.was_shared, loss.is_suspect])
        os._exit(0)
"""


class Daemon:
    """A process that forks workers, each of which brings a task to the process that it shares."""

    def __init__(self, **constants: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", DAEMON, json.dumps(constants)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, bufsize=1,
        )  # fmt: skip
        self._reports: dict[tuple[str, str], queue.Queue[dict[str, Any]]] = {}
        self.log: list[str] = []
        self.shares = "bundle"
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def begin(self, test: str) -> None:
        """Forget earlier reports."""
        self.shares = test
        with self._lock:
            self._reports.clear()

    def bring(self, *connectors: str, shares: str = "") -> None:
        """Fork a worker for the task of each connector."""
        assert self.process.stdin is not None
        for each in connectors:
            self.process.stdin.write(f"{each} {shares or self.shares}\n")

    def report(self, what: str, connector: str) -> dict[str, Any]:
        """Wait until a connector's report is that its task ``runs``, ``ends`` or has a ``worker`` or is ``over``."""
        return self._queue(what, connector).get(timeout=TIMEOUT)

    def close(self) -> None:
        """End it, with all that it has started."""
        for each in reversed(tree(self.process.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.pid, signal.SIGKILL)
        with self.process:
            self._reader.join(TIMEOUT)

    def _queue(self, what: str, connector: str) -> queue.Queue[dict[str, Any]]:
        with self._lock:
            return self._reports.setdefault((what, connector), queue.Queue())

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.startswith("{"):
                self.log.append(line)
                continue
            facts = json.loads(line)
            for what in ("runs", "ends", "worker", "over"):
                if what in facts:
                    self._queue(what, facts[what]).put(facts)


@pytest.fixture(scope="module")
def lasting() -> Iterator[Daemon]:
    """Provide one whose shared processes wait a moment for tasks."""
    made = Daemon(IDLE_SECONDS=0.5)
    yield made
    made.close()


@pytest.fixture
def daemon(lasting: Daemon, request: pytest.FixtureRequest) -> Daemon:
    """Provide it for tasks that share their process with those of no other test."""
    lasting.begin(request.node.name)
    return lasting


def open_files(pid: int) -> list[str]:
    """Return what a process has open."""
    return sorted(os.readlink(each).partition(":")[0] for each in Path(f"/proc/{pid}/fd").iterdir())


def test_tasks_of_one_group_share_a_process(daemon: Daemon) -> None:
    """Each runs on a thread; the process is not a worker of theirs, and holds none of their open files."""
    daemon.bring("wait-a", "wait-b")
    daemon.bring("wait-c", shares="another")
    runs = [daemon.report("runs", f"wait-{each}") for each in "abc"]
    pids = [each["pid"] for each in runs]
    assert pids[0] == pids[1] != pids[2]
    assert all(each["shared"] for each in runs)
    workers = [daemon.report("worker", f"wait-{each}")["pid"] for each in "abc"]
    assert not {*pids} & {*workers}
    assert find(pids[0]).title == "task-runtime"
    assert eventually(lambda: find(pids[0]).parent == daemon.process.pid, TIMEOUT), "it outlives its first worker"
    kinds = open_files(pids[0])
    assert kinds.count("pipe") == 5, "its input and outputs, and twice that by which it hears of the end of the daemon"
    assert kinds.count("socket") == 3, "where it listens, and to both workers"


def test_worker_receives_the_result_of_its_run(daemon: Daemon) -> None:
    """As if the run had been in the worker."""
    daemon.bring("wait-a", "done-b", "lose-c", "raise-d", "exit-e")
    daemon.report("runs", "wait-a")  # so that no test after this one hears it
    assert daemon.report("over", "done-b")["loss"] is None
    assert daemon.report("over", "lose-c")["loss"] == ["lost", True, True]
    assert daemon.report("over", "raise-d")["loss"] == ["ValueError: no such member", False, False]
    assert daemon.report("over", "exit-e")["loss"] == ["SystemExit: 3", False, False]
    assert eventually(
        lambda: any("[raise-d|task-0] the run failed unexpectedly" in line for line in daemon.log), TIMEOUT
    )


def test_a_killed_worker_ends_only_its_own_task(daemon: Daemon) -> None:
    """Spark kills it when a job is cancelled."""
    daemon.bring("wait-a", "wait-b")
    (shared,) = {daemon.report("runs", f"wait-{each}")["pid"] for each in "ab"}
    os.kill(daemon.report("worker", "wait-a")["pid"], signal.SIGKILL)
    assert daemon.report("ends", "wait-a")["events"] == ["Spark ended its worker"]
    daemon.bring("done-c")
    assert daemon.report("runs", "done-c")["pid"] == shared
    assert daemon._queue("ends", "wait-b").empty()


def test_all_workers_notice_the_end_of_the_process(daemon: Daemon) -> None:
    """Their tasks restart in the next one."""
    daemon.bring("wait-a", "wait-b")
    (shared,) = {daemon.report("runs", f"wait-{each}")["pid"] for each in "ab"}
    os.kill(shared, signal.SIGKILL)
    for each in "ab":
        assert daemon.report("over", f"wait-{each}")["loss"] == [ENDED, True, False]
    daemon.bring("done-a")
    assert daemon.report("runs", "done-a")["pid"] != shared


def test_a_task_not_accepted_in_time_runs_alone() -> None:
    """And not a second time in the shared process, which may be busy and get to it later."""
    hasty = Daemon(MEET_SECONDS=6.0, LAST_RESORT_SECONDS=0.1)
    try:
        hasty.bring("wait-a")
        shared = hasty.report("runs", "wait-a")["pid"]
        os.kill(shared, signal.SIGSTOP)
        hasty.bring("done-b")
        assert not hasty.report("runs", "done-b")["shared"]
        os.kill(shared, signal.SIGCONT)
        hasty.bring("done-c")
        assert hasty.report("runs", "done-c")["pid"] == shared
        assert hasty._queue("runs", "done-b").empty()
        assert not eventually(lambda: not find(shared).is_alive, 0.5), "nobody ends it for a run that never began"
    finally:
        hasty.close()


def test_a_task_without_a_thread_runs_alone(daemon: Daemon) -> None:
    """The others in the process continue."""
    daemon.bring("wait-a")
    shared = daemon.report("runs", "wait-a")["pid"]
    daemon.bring("hopeless-b", "done-c")
    assert not daemon.report("runs", "hopeless-b")["shared"]
    assert daemon.report("over", "hopeless-b")["loss"] is None
    assert daemon.report("runs", "done-c")["pid"] == shared


def test_an_idle_process_ends(daemon: Daemon) -> None:
    """And not before; the next task starts another."""
    daemon.bring("done-a")
    first = find(daemon.report("runs", "done-a")["pid"])
    daemon.report("over", "done-a")
    assert eventually(lambda: not first.is_alive, TIMEOUT)
    daemon.bring("done-b")
    assert daemon.report("runs", "done-b")["pid"] != first.pid


def test_the_shared_process_ends_with_the_daemon() -> None:
    """However that ends: Spark's daemon or the machine ends its workers too."""
    ending = Daemon()
    ending.bring("wait-a")
    shared = find(ending.report("runs", "wait-a")["pid"])
    for each in tree(ending.process.pid):
        if each != shared:
            os.kill(each.pid, signal.SIGKILL)
    assert eventually(lambda: not shared.is_alive, TIMEOUT)
    ending.close()


def test_a_refused_task_runs_alone() -> None:
    """In its worker, with a warning."""
    full = Daemon(DESCRIPTORS=1 << 40)
    try:
        full.bring("done-a")
        assert not full.report("runs", "done-a")["shared"]
        assert full.report("over", "done-a")["loss"] is None
        assert any("[done-a|task-0] the task runs in its own process: the shared process" in line for line in full.log)
    finally:
        full.close()
