"""Tasks of a streaming read in separate processes, launched as on executors but without Spark."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import SparkFiles

from hearth.datasource import executor_task, planning
from hearth.datasource.data_source_error import DataSourceFailed
from hearth.datasource.spool_control import TaskReport, read_message
from hearth.datasource.spool_directory import DirectoryStore
from hearth.datasource.stream_read import HearthStreamReader
from hearth.datasource.task_launch import PROGRAM, SpoolingLaunch
from tests.timeouts import TIMEOUT, eventually
from tests.unit.datasource.acting_source import acting_plan
from tests.unit.datasource.test_stream_read import ALL, SCHEMA, rows

Make = Callable[..., HearthStreamReader]


@pytest.fixture(autouse=True)
def _keep_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Begin reads whose tasks are elsewhere; all use the same spool."""
    made: list[HearthStreamReader] = []

    def begin(tasks: int = 1, **config: str) -> HearthStreamReader:
        plans = tuple(acting_plan(tmp_path, number, **config) for number in range(tasks))
        monkeypatch.setattr(planning, "planned", lambda *_: SimpleNamespace(plans=plans))
        own = {"hearth.spool": str(tmp_path / "spool"), "hearth.idle.ms": "30", "hearth.tasks.on": "executors"}
        made.append(HearthStreamReader({"connector.class": "x", **own}, SCHEMA))
        return made[-1]

    yield begin
    for each in made:
        if each._read is not None:
            each.stop()
    assert eventually(lambda: not [process for process in processes(tmp_path) if is_left(process)], TIMEOUT)


def processes(folder: Path) -> list[int]:
    """Return the processes that have reported their place, in the order of their runs."""
    store = DirectoryStore(folder / "spool")
    names = sorted(path.name for path in (folder / "spool" / "task-0").glob("said-*"))
    found = [read_message(store, f"task-0/{name}", TaskReport) for name in names]
    return [int(message.place.partition(":")[2]) for message in found if message is not None and message.place]


def newest(folder: Path) -> int:
    """Return the process of the newest run."""
    return processes(folder)[-1]


def children() -> list[int]:
    """Return the task processes that this process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and PROGRAM.encode() in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return found


def is_left(process: int) -> bool:
    """Return whether a process still exists, also as a zombie."""
    return Path(f"/proc/{process}").exists()


def taken(reader: HearthStreamReader, start: Any, seen: list[int], is_enough: Callable[[], bool]) -> Any:
    """Take micro-batches, those that launch tasks as well, until it is enough; returns where that was."""
    until = time.monotonic() + TIMEOUT
    while not is_enough():
        assert time.monotonic() < until
        end = reader.latestOffset(start, ALL)
        if end != start:
            seen += rows(reader, start, end)
            start = end
    return start


def followed(reader: HearthStreamReader, start: Any, take: Callable[[Any, Any], Any]) -> None:
    """Take micro-batches for ever; ``start`` is kept where that has come to."""
    while True:
        end = reader.latestOffset(start, ALL)
        take(start, end)
        start.update(end)


def drained(reader: HearthStreamReader, start: Any) -> tuple[list[int], Any]:
    """Return the rows of a read that ends, and where it ended."""
    reader.prepareForTriggerAvailableNow()
    seen: list[int] = []
    while (end := reader.latestOffset(start, ALL)) != start:
        seen += rows(reader, start, end)
        start = end
    return seen, start


def test_records_arrive_once_and_the_next_read_continues(reader: Make) -> None:
    """The first micro-batch launches two tasks, the others have their rows; another read, its own task."""
    first = reader(tasks=2, last="35")
    seen, end = drained(first, first.initialOffset())
    assert sorted(seen) == sorted([*range(1, 36), *range(1, 36)])
    assert end["launched"] == 1
    first.stop()
    second = reader(last="50")
    seen, end = drained(second, end)
    assert seen == list(range(36, 51))


def test_task_runs_in_the_environment_unpacked_by_spark(
    reader: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executor does not have what the driver has."""
    brought = tmp_path / "brought" / "acting" / "0"
    brought.mkdir(parents=True)
    read = reader(last="35")
    (tmp_path / "acting.py").rename(brought / "acting.py")
    plans = planning.planned().plans  # type: ignore[call-arg]
    missing = {key: replace(each, paths=(str(tmp_path / "away"),)) for key, each in plans[0].environments.items()}
    monkeypatch.setattr(
        planning, "planned", lambda *_: SimpleNamespace(plans=(replace(plans[0], environments=missing),))
    )
    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(tmp_path / "brought"))
    seen, _ = drained(read, read.initialOffset())
    assert seen == list(range(1, 36))


def test_repeated_launch_starts_no_second_process(reader: Make, tmp_path: Path) -> None:
    """Spark may run a task again, and a query its micro-batch; who repeats it after a restart launches none."""
    read = reader(last="100000", step="10")
    start = read.initialOffset()
    end = read.latestOffset(start, ALL)
    assert rows(read, start, end) == rows(read, start, end) == []
    seen: list[int] = []
    at = taken(read, end, seen, lambda: len(seen) > 100)
    assert seen == list(range(1, len(seen) + 1))
    assert children() == [newest(tmp_path)]
    read.stop()
    again = reader(last="100000", step="10")
    assert again.partitions(start, end) == []
    count = len(seen)
    taken(again, at, seen, lambda: len(seen) > count)
    assert seen == list(range(1, len(seen) + 1))


@pytest.mark.parametrize("act", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGSTOP])
def test_lost_task_restarts(
    reader: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: signal.Signals
) -> None:
    """Killed, asked to end, or asleep: what it writes when it awakes counts no more."""
    monkeypatch.setattr(executor_task, "LOST_LOOKS", 30)
    read = reader(last="100000000", step="10")
    seen: list[int] = []
    start = taken(read, read.initialOffset(), seen, lambda: len(seen) > 50)
    process = newest(tmp_path)
    os.kill(process, act)
    start = taken(read, start, seen, lambda: newest(tmp_path) != process)
    if act == signal.SIGSTOP:
        os.kill(process, signal.SIGCONT)
    count = len(seen)
    taken(read, start, seen, lambda: len(seen) > count + 100)
    assert seen == list(range(1, len(seen) + 1))
    assert eventually(lambda: not is_left(process), TIMEOUT)


def test_repeatedly_lost_task_fails_the_query(reader: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its micro-batch is never used."""
    monkeypatch.setattr(executor_task, "LAUNCH_SECONDS", 0.05)
    read = reader(last="5")
    with pytest.raises(DataSourceFailed, match="was started 4 times on executors"):
        followed(read, read.initialOffset(), lambda start, end: read.partitions(start, end))


INTERRUPTED = """
import os, signal, time
from hearth.datasource import executor_process

def execute(task):
    with task._access.await_room.__self__._cond:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0)
    task._stopping.wait()

executor_process.SpoolingTask.execute = execute
executor_process.main(-1)
"""


def test_signal_handler_does_not_deadlock(reader: Make, tmp_path: Path) -> None:
    """It may find a lock taken, by the very thread that hears it; in order is with code 0, by force with another."""
    read = reader(last="5")
    start = read.initialOffset()
    (launch,) = read.partitions(start, read.latestOffset(start, ALL))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", INTERRUPTED], input=pickle.dumps(launch), env=environment, check=True)


@pytest.mark.parametrize(
    ("trap", "message"),
    [("fail 20", "the source is broken"), pytest.param("die 20", "signal 9", marks=pytest.mark.long)],
)
def test_failed_task_fails_the_query_without_losing_records(reader: Make, trap: str, message: str) -> None:
    """The query fails with the task's message; a restarted query reads what was polled before."""
    first = reader(last="50", trap=trap)
    end, seen = first.initialOffset(), list[int]()
    with pytest.raises(DataSourceFailed, match=message):
        followed(first, end, lambda start, after: seen.extend(rows(first, start, after)))
    first.stop()
    more, _ = drained(reader(last="50"), end)
    assert seen + more == list(range(1, 51))


def test_executor_without_the_spool_is_an_error(reader: Make, tmp_path: Path) -> None:
    """With the option that is wrong."""
    read = reader(last="5")
    start = read.initialOffset()
    (launch,) = read.partitions(start, read.latestOffset(start, ALL))
    assert isinstance(launch, SpoolingLaunch)
    copy = pickle.loads(pickle.dumps(read))
    with pytest.raises(DataSourceFailed, match=r"hearth\.spool.*share"):
        list(copy.read(replace(launch, spool=str(tmp_path / "elsewhere"))))


@pytest.mark.long
def test_tasks_end_when_their_read_is_silent(reader: Make, tmp_path: Path) -> None:
    """As their driver was killed: the files say nothing new."""
    read = reader(last="100000", step="10")
    seen: list[int] = []
    taken(read, read.initialOffset(), seen, lambda: len(seen) > 50)
    inside = read._read
    assert inside is not None
    tasks: Any = inside._tasks
    tasks._stopping.set()
    tasks._watcher.join()
    assert eventually(lambda: not is_left(newest(tmp_path)), TIMEOUT)
