"""The guide's query of a database's changes: each is in the files once, whatever is killed; no Kafka runs."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow.dataset
import pytest

from tests.crash.counters import KEYS, TABLE, counting, last_numbers
from tests.crash.pipeline import pass_time
from tests.crash.stream_ledger import ROOT, committed_files, descendants
from tests.mariadb import PASSWORD, USER, MariaDb, is_installed, serving
from tests.peer.plugin_list import place
from tests.spark_python import spark_python
from tests.timeouts import eventually

pytestmark = [pytest.mark.long, pytest.mark.skipif(not is_installed(), reason="this machine has no MariaDB")]

KINDS = {"stage": "hearth.stage.Main", "Spark": "SparkSubmit", "driver": "tests.crash.change_query"}
START_SECONDS, END_SECONDS = 240.0, 240.0


class Program:
    """The program with the query, started again after each kill."""

    def __init__(self, folder: Path, database: MariaDb) -> None:
        self._folder = folder
        self._other = {"db.example.org": "127.0.0.1", "3306": str(database.port), "reader": USER, "secret": PASSWORD}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the program unless it runs, and wait until its query has started."""
        if self._process is not None and self._process.poll() is None:
            return
        self.kill_all()
        running = self._folder / "running"
        running.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.crash.change_query", str(self._folder), json.dumps(self._other)]
        environment = {**os.environ, "PYSPARK_PYTHON": spark_python()}
        with (self._folder / "log").open("ab") as log:
            started = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=environment)
        self._process = started
        assert eventually(lambda: running.exists() or started.poll() is not None, START_SECONDS), self.last_words
        assert running.exists(), self.last_words

    def kill(self, kind: str) -> None:
        """Kill a process of a kind once there is one; after Spark's or the stage's the query ends with an error."""
        self.wait(lambda: any(self._of(kind)))
        os.kill(next(self._of(kind)), signal.SIGKILL)

    def wait(self, condition: Callable[[], bool], seconds: float = START_SECONDS) -> None:
        """Wait for a condition; start the program again whenever its query has ended after a kill."""

        def holds() -> bool:
            self.start()
            return condition()

        assert eventually(holds, seconds, 0.2), self.last_words

    def kill_all(self) -> None:
        """Kill what is left of the program."""
        if self._process is not None:
            for each in [self._process.pid, *descendants(self._process.pid)]:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            self._process.wait()

    def _of(self, kind: str) -> Iterator[int]:
        assert self._process is not None
        for each in [self._process.pid, *descendants(self._process.pid)]:
            with suppress(OSError):
                if KINDS[kind].encode() in Path(f"/proc/{each}/cmdline").read_bytes():
                    yield each

    def finish(self) -> None:
        """Let the program read the rest."""
        (self._folder / "done").touch()
        self.wait((self._folder / "over").exists, END_SECONDS)

    @property
    def last_words(self) -> str:
        """Return the end of its output."""
        return (self._folder / "log").read_text(errors="replace")[-4000:]


@contextmanager
def closing(program: Program) -> Iterator[Program]:
    """Provide the program and kill what is left of it."""
    try:
        yield program
    finally:
        program.kill_all()


def written(folder: Path) -> list[tuple[int, int]]:
    """Return the counters' numbers in the files that Spark has committed, sorted."""
    if not (folder / "changes" / "_spark_metadata").exists():
        return []
    rows = pyarrow.dataset.dataset(committed_files(folder / "changes"), format="parquet").to_table().to_pylist()
    return sorted((row["id"], row["n"]) for row in rows)


def grows(folder: Path) -> Callable[[], bool]:
    """Return a function that tells whether rows have come since."""
    before = len(written(folder))
    return lambda: len(written(folder)) > before


def test_each_change_is_in_the_files_once(tmp_path: Path) -> None:
    """Snapshot and changes; the JVM of the connector, Spark's and the driver are killed, in an order of chance."""
    kinds = list(KINDS)
    random.shuffle(kinds)
    (tmp_path / "plugin_path").mkdir()
    place("debezium-connector-mariadb", tmp_path / "plugin_path")
    with serving() as database:
        database.run(TABLE)
        with closing(Program(tmp_path, database)) as program:
            program.wait(lambda: len(written(tmp_path)) == KEYS)
            with counting(database):
                for kind in kinds:
                    program.wait(grows(tmp_path))
                    pass_time(random.uniform(0.0, 2.0))
                    program.kill(kind)
            program.finish()
        last = last_numbers(database)
    assert written(tmp_path) == [(key, number) for key in sorted(last) for number in range(last[key] + 1)]
