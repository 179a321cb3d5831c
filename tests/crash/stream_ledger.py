"""A ledger of a streaming read: lines go into a file, processes are killed, and both sinks have each line once."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset

from hearth.datasource.row_form import MOST_ROWS
from tests.timeouts import eventually

ROOT = Path(__file__).parents[2]
PROGRAM = "tests.crash.stream_query"
LINES_AT_ONCE = 100
MOST_FALSE_STARTS = 5
START_SECONDS = 240.0
END_SECONDS = 600.0


@dataclass
class Verdict:
    """The state of both sinks: missing lines, duplicate lines, and the number of kills by kind of process.

    ``again`` counts the rows that were delivered again to the upserting sink, which kept them once; ``replayed``
    counts their micro-batches.
    """

    lines: int = 0
    again: int = 0
    replayed: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    twice: dict[str, int] = field(default_factory=dict)
    killed: Counter[str] = field(default_factory=Counter)

    @property
    def is_clean(self) -> bool:
        """Return whether each line is once in each sink."""
        return not any(self.lost.values()) and not any(self.twice.values())


class StreamLedger:
    """Feeds a file, kills processes of the program that reads it, and restarts the program."""

    def __init__(
        self, folder: Path, bundle: str, master: str, seed: int, environment: dict[str, str], where: str = "driver"
    ) -> None:
        self._folder, self._bundle, self._master, self._where = folder, bundle, master, where
        self._random = random.Random(seed)
        self._environment = environment
        self._lines = folder / "lines"
        self._lines.touch()
        self._database = f"file:{folder / 'rows.db'}?mode=ro"
        self._count = 0
        self._is_over = threading.Event()
        self._killed: Counter[str] = Counter()
        self._program: subprocess.Popen[bytes] | None = None
        self._false_starts = 0

    def run(self, kills: int) -> Verdict:
        """Kill ``kills`` processes at random moments; return the verdict."""
        with self._fed():
            while self._killed.total() < kills:
                if self._run_program():
                    self._pause(self._random.random() * 6)
                self._pause(self._random.choice((0.0, 0.3, 1.0, 4.0)) * self._random.random())
                self._kill_one()
        return self._judged()

    def run_between_commits(self, kills: int) -> Verdict:
        """Kill Spark ``kills`` times after the upserting sink has committed a micro-batch and before Spark has.

        Each kill hits another micro-batch, so all of them are replayed. A kill that is too late does not count.
        """
        behind = -1
        with self._fed():
            while self._killed["between"] < kills:
                self._run_program()
                batch = self._await_commit(behind)
                if batch is None:
                    continue
                behind = batch
                self._kill_jvm()
                self._killed["between" if self._committed() < batch else "behind"] += 1
        return self._judged()

    def close(self) -> None:
        """End the remaining processes."""
        if self._program is not None:
            for process in [self._program.pid, *descendants(self._program.pid)]:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            self._program.wait()

    @property
    def tasks(self) -> list[int]:
        """Return the task processes that still run on executors, also those of a program that has ended."""
        found = [json.loads(path.read_text() or "{}") for path in self._folder.glob("spool-*/task-*/said-*.json")]
        places = {int(report["place"].rpartition(":")[2]) for report in found if report.get("place")}
        return sorted(process for process in places if kind_of(process) == "task")

    @contextmanager
    def _fed(self) -> Iterator[None]:
        """Append lines until the kills are over."""
        feeder = threading.Thread(target=self._feed, daemon=True)
        feeder.start()
        try:
            yield
        finally:
            self._is_over.set()
            feeder.join()

    def _judged(self) -> Verdict:
        """Let the program read all lines, and return the verdict."""
        (self._folder / "done").touch()
        self._finish()
        return self._verdict()

    def _feed(self) -> None:
        with self._lines.open("a") as file:
            while not self._is_over.is_set():
                first = self._count
                file.writelines(f"{number:060}\n" for number in range(first, first + LINES_AT_ONCE))
                file.flush()
                self._count += LINES_AT_ONCE
                time.sleep(0.05)

    def _run_program(self) -> bool:
        """Start the program unless it runs, wait until its queries have started, and return whether it was started."""
        if self._program is not None and self._program.poll() is None:
            return False
        if self._program is not None:
            self.close()
        (self._folder / "running").unlink(missing_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._program = subprocess.Popen(
                [sys.executable, "-m", PROGRAM, self._folder, self._bundle, self._master, self._where],
                stdout=log, stderr=log, env=self._environment, cwd=ROOT,
            )  # fmt: skip
        running, program = self._folder / "running", self._program
        assert eventually(lambda: running.exists() or program.poll() is not None, START_SECONDS), self.last_words
        self._false_starts = 0 if running.exists() else self._false_starts + 1
        assert self._false_starts < MOST_FALSE_STARTS, self.last_words
        return True

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and self._program is not None and self._program.poll() is None:
            time.sleep(0.02)

    def _kill_one(self) -> None:
        """Kill a process of the program; each kind is equally likely."""
        if self._program is None or self._program.poll() is not None:
            return
        kinds: dict[str, list[int]] = {}
        tasks = self.tasks
        below = {*descendants(self._program.pid), *tasks, *(each for task in tasks for each in descendants(task))}
        for process in [self._program.pid, *sorted(below)]:
            kinds.setdefault("driver" if process == self._program.pid else kind_of(process), []).append(process)
        kind = self._random.choice(sorted(kinds))
        with suppress(ProcessLookupError):
            os.kill(self._random.choice(kinds[kind]), signal.SIGKILL)
            self._killed[kind] += 1

    def _await_commit(self, behind: int) -> int | None:
        """Wait until the sink has a micro-batch that Spark has not committed; return ``None`` on a timeout.

        The sink commits a micro-batch atomically, so its last row proves that all of it is stored.
        """
        while self._program is not None and self._program.poll() is None:
            batch = self._upserted()
            if batch > behind and batch > self._committed():
                return batch
            time.sleep(0.002)
        return None

    def _upserted(self) -> int:
        """Return the last micro-batch of which the sink has new rows, -1 if none."""
        with suppress(sqlite3.OperationalError), closing(sqlite3.connect(self._database, uri=True)) as database:
            for (offset,) in database.execute("SELECT offset FROM written ORDER BY rowid DESC LIMIT 1"):
                return int(offset) // MOST_ROWS
        return -1

    def _committed(self) -> int:
        """Return the last micro-batch that Spark has committed, -1 if none."""
        with suppress(FileNotFoundError):
            names = os.listdir(self._folder / "checkpoint-rows" / "commits")
            return max((int(name) for name in names if name.isdecimal()), default=-1)
        return -1

    def _kill_jvm(self) -> None:
        """Kill Spark, and wait until it has ended and can commit nothing more."""
        assert self._program is not None
        for process in descendants(self._program.pid):
            if kind_of(process) == "JVM":
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                while kind_of(process) == "JVM":
                    time.sleep(0.001)

    def _finish(self) -> None:
        """Let the program read the remaining lines; queries started before the file ``done`` existed run on."""
        self.close()
        until = time.monotonic() + END_SECONDS
        while not (self._folder / "over").exists():
            self._run_program()
            assert time.monotonic() < until, self.last_words
            time.sleep(0.1)

    def _verdict(self) -> Verdict:
        wanted = {f"{number:060}" for number in range(self._count)}
        written = pyarrow.dataset.dataset(self._parquet_files(), format="parquet").to_table().column("value")
        replays = f"SELECT count(DISTINCT offset / {MOST_ROWS}) FROM written WHERE times > 1"
        with closing(sqlite3.connect(self._folder / "rows.db")) as database:
            rows = [row for (row,) in database.execute("SELECT value FROM written")]
            ((again,),) = database.execute("SELECT sum(times - 1) FROM written")
            ((replayed,),) = database.execute(replays)
        verdict = Verdict(self._count, again, replayed, killed=self._killed)
        for name, found in (("parquet", written.to_pylist()), ("rows", rows)):
            counts = Counter(found)
            verdict.lost[name] = len(wanted - counts.keys())
            verdict.twice[name] = counts.total() - len(counts)
        return verdict

    def _parquet_files(self) -> list[str]:
        """Return the files that Spark's log of the sink names: others are leftovers of killed tasks."""
        return committed_files(self._folder / "parquet")

    @property
    def last_words(self) -> str:
        """Return the end of the program's output."""
        return (self._folder / "log").read_text(errors="replace")[-4000:]


def committed_files(folder: Path) -> list[str]:
    """Return the files that the log of a streaming sink names, including compacted parts of the log."""
    logs = sorted(
        (each for each in (folder / "_spark_metadata").iterdir() if not each.name.startswith(".")),
        key=lambda each: int(each.name.partition(".")[0]),
    )
    compact = [each for each in logs if each.name.endswith(".compact")]
    if compact:
        first = int(compact[-1].name.partition(".")[0])
        logs = [compact[-1], *(each for each in logs if int(each.name.partition(".")[0]) > first)]
    entries = [json.loads(line) for log in logs for line in log.read_text().splitlines()[1:]]
    return [entry["path"].removeprefix("file://") for entry in entries]


def descendants(process: int) -> list[int]:
    """Return the processes below one."""
    children: dict[int, list[int]] = {}
    for each in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(each.name))
    found, waiting = [], [process]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def kind_of(process: int) -> str:
    """Return the kind of a process."""
    with suppress(OSError):
        line = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        for word, kind in (
            ("CoarseGrainedExecutor", "executor"), ("SparkSubmit", "JVM"), ("hearth_stage", "stage"),
            ("executor_process", "task"),
            ("python_streaming_source_runner", "reader"), ("pyspark.daemon", "worker"),
        ):  # fmt: skip
            if word in line:
                return kind
    return "other"
