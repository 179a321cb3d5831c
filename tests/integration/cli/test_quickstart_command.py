"""The quickstart with real Kafka, real Spark and real bundles; it leaves no process."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb
import pytest

from hearth.cli.quickstart_command import _fetch, _pack
from tests.bundles import build
from tests.page import block
from tests.timeouts import TIMEOUT, eventually

MARK = "HEARTH_TEST_RUN"
"""An environment variable that identifies every descendant of a run, whatever its parent is."""


class Quickstart:
    """One run of the command in its own directory."""

    def __init__(self, directory: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        self.directory = directory
        self.mark = uuid.uuid4().hex
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hearth", "quickstart", "--directory", str(directory), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(environment or {}), MARK: self.mark},
            start_new_session=True,
        )
        self.shown = ""

    def read_until(self, words: str) -> str:
        """Read the output until it contains the words, and return all of it."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.shown += line
            if words in line:
                return self.shown
        pytest.fail(f"{words!r} was not printed:\n{self.shown}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command alone, as a terminal's Ctrl-C does: its children run in other sessions."""
        self._process.send_signal(number)

    def end(self) -> int:
        """Read the remaining output and return the exit code."""
        assert self._process.stdout is not None
        self.shown += self._process.stdout.read()
        return self._process.wait()

    def processes(self) -> list[int]:
        """Return the processes of this run that are alive."""
        return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and self._is_ours(each)]

    def close(self) -> None:
        """End the processes that a failed test left."""
        for process in self.processes():
            os.kill(process, signal.SIGKILL)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait()

    def _is_ours(self, process: Path) -> bool:
        try:
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
            return state != "Z" and f"{MARK}={self.mark}".encode() in (process / "environ").read_bytes()
        except OSError:
            return False


@contextmanager
def running(directory: Path, *options: str, environment: dict[str, str] | None = None) -> Iterator[Quickstart]:
    """Start the command; all its processes end with the test."""
    with closing(Quickstart(directory, *options, environment=environment)) as run:
        yield run


def ends(process: int, within: float) -> bool:
    """Wait for the end of a process that is not our child, and return whether it came in time."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], within)[0])
    finally:
        os.close(descriptor)


def lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def steps(shown: str) -> list[str]:
    """Return the printed steps without numbers and without how the bundle was obtained."""
    kept = [re.sub(r"\d+(\.\d+)*", "N", line) for line in shown.splitlines() if line.strip()]
    return [line.partition("bundle  ")[0] if "the file bundle" in line else line for line in kept]


def test_once_verifies_a_round_trip_and_the_next_run_continues_until_ctrl_c(tmp_path: Path) -> None:
    """Every line arrives exactly once and in order, across a stop and a start; no process stays.

    What a run announces works: the URLs respond, an appended line arrives, a second run in its directory, which would
    write to its files, is refused, and Ctrl-C stops everything in order.
    """
    with running(tmp_path, "--once", "--lines", "500") as run:
        assert run.end() == 0, run.shown
        assert "500 lines arrived, in order, exactly once" in run.shown
        assert steps(run.shown) == steps(block("text", "a round trip"))
        assert run.processes() == []
    assert len(lines(tmp_path / "test.txt")) == 500
    assert lines(tmp_path / "test.sink.txt") == lines(tmp_path / "test.txt")
    with taken(8083), running(tmp_path, "--lines", "500") as run:
        shown = run.read_until("Ctrl-C stops everything")
        assert "8083 is taken" in shown
        with running(tmp_path, "--once") as second:
            assert second.end() == 1
            assert f"error: another quickstart uses {tmp_path}" in second.shown
            assert "hint: stop it with Ctrl-C" in second.shown
        (url,) = re.findall(r"curl (http://\S+)/connector-plugins", shown)
        with urllib.request.urlopen(f"{url}/connectors") as answer:
            assert sorted(json.load(answer)) == ["local-file-sink", "local-file-source"]
        with (tmp_path / "test.txt").open("a") as file:
            file.write("a line of my own\n")
        run.read_until("test.sink.txt: a line of my own")
        run.signal(signal.SIGINT)
        assert run.end() == 0
        assert run.processes() == []
    sent = lines(tmp_path / "test.txt")
    assert len(sent) == 1001
    assert lines(tmp_path / "test.sink.txt") == sent


@pytest.mark.long
def test_several_hosts_fail_over(tmp_path: Path) -> None:
    """The leading host of a Spark cluster is killed with the printed command; lines flow on, no process is left."""
    with running(tmp_path, "--hosts", "3", "--lines", "50") as run:
        shown = run.read_until("the leading host is ")
        leader = shown.rpartition("the leading host is ")[2].strip()
        (pid,) = re.findall(rf"kill -9 (\d+)  # the host at http://{leader}", shown)
        os.kill(int(pid), signal.SIGKILL)
        with (tmp_path / "test.txt").open("a") as file:
            file.write("a line of my own\n")
        run.read_until(f"the host at http://{leader} has ended")
        run.read_until("test.sink.txt: a line of my own")
        run.signal(signal.SIGINT)
        assert run.end() == 0
        assert run.processes() == []
    with running(tmp_path, "--hosts", "2", "--once", "--lines", "5") as run:
        assert run.end() == 0, run.shown
        assert run.processes() == []


@contextmanager
def taken(port: int) -> Iterator[None]:
    """Listen on a port."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen()
        except OSError:
            pass  # another process has it: equally good
        yield


@pytest.mark.long
def test_avro_lines_use_a_registry(tmp_path: Path) -> None:
    """A second run continues with the schema that the first one registered."""
    for _ in range(2):
        with running(tmp_path, "--avro", "--once", "--lines", "50") as run:
            assert run.end() == 0, run.shown
            assert "the schema registry  answers on http://127.0.0.1:" in run.shown
            assert "50 lines arrived, in order, exactly once" in run.shown
            assert run.processes() == []
    assert len(lines(tmp_path / "test.avro.sink.txt")) == 100
    assert not (tmp_path / "test.txt").exists()


def test_rows_of_a_database_are_parquet_files(tmp_path: Path) -> None:
    """They go through Kafka as Avro; Arrow, DuckDB and Spark read the files."""
    with running(tmp_path, "--lake", "--once", "--lines", "50") as run:
        assert run.end() == 0, run.shown
        assert "test.lake.db -> topic lake-lines -> test.lake" in run.shown
        assert re.search(r"Spark reads the Parquet files +50 rows", run.shown)
        assert "50 lines arrived, in order, exactly once" in run.shown
        assert run.processes() == []
    query = f"SELECT count(DISTINCT line), min(id), max(id) FROM '{tmp_path}/test.lake/**/*.parquet'"
    assert duckdb.execute(query).fetchall() == [(50, 1, 50)]


def test_concurrent_commands_start_and_end_independently(tmp_path: Path) -> None:
    """Each finds the same ports free, and loses some of them to the other; what it prints is its own.

    One copies the rows of a database as Avro, whose schema is in its registry. SIGTERM ends it in order. SIGKILL
    leaves the other no time to clean up: broker, host, Spark and stages detect it by themselves.
    """
    with running(tmp_path / "one", "--database", "--lines", "50") as one, running(tmp_path / "other") as other:
        urls = set()
        for run in (one, other):
            shown = run.read_until("Ctrl-C stops everything")
            urls |= set(re.findall(r"(?:listens on|answers on|open|curl) (?:http://)?(127.0.0.1:[0-9]+)", shown))
        assert len(urls) == 7, "a broker, a host and a page of Spark, for each, and a registry"
        assert "test.db -> topic connect-lines -> test.db.sink.txt" in one.shown
        (url,) = re.findall(r"curl (http://\S+/subjects/connect-lines-value/versions/1)", one.shown)
        with urllib.request.urlopen(url) as answer:
            schema = json.loads(json.load(answer)["schema"])
        assert (schema["name"], [field["name"] for field in schema["fields"]]) == ("lines", ["id", "line"])
        assert len(other.processes()) > 3
        for run, number in ((one, signal.SIGTERM), (other, signal.SIGKILL)):
            run.signal(number)  # only now: a command that still starts may take the ports of one that ends
        assert one.end() == 0
        for process in other.processes():
            assert ends(process, within=60), _command(process)
        assert [*one.processes(), *other.processes()] == []
    assert len(lines(tmp_path / "one" / "test.db.sink.txt")) == 50


def test_a_part_that_does_not_start_is_named(tmp_path: Path) -> None:
    """Without Java the first part fails, and the exit code is that of an environment error."""
    bare = {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path / "no-java")}
    with running(tmp_path / "state", "--once", environment=bare) as run:
        assert run.end() == 3
        assert "error: Java did not start: " in run.shown
        assert "hint: " in run.shown


def test_a_dead_host_is_reported_with_its_output(tmp_path: Path) -> None:
    """A host that dies while lines are in flight ends the command with an error that names it."""
    with running(tmp_path) as run:
        run.read_until("Ctrl-C stops everything")
        (host,) = [each for each in run.processes() if "standalone" in _command(each)]
        os.kill(host, signal.SIGKILL)
        assert run.end() == 1
        assert "error: the host exited" in run.shown
        assert eventually(lambda: run.processes() == [], TIMEOUT), "a task that lost its host stops itself"


def _command(process: int) -> list[str]:
    return Path(f"/proc/{process}/cmdline").read_text().split("\0")


def test_without_a_checkout_the_file_bundle_is_installed_from_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this version, and only once."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HEARTH_INDEX", str(tmp_path))
    for version in ("0.0.9", "0.1.0", "9.0"):
        build.plain_wheel(tmp_path, "hearth-file", version, {"hearth.predicates": {"a.Demo": "demo:Demo"}})
    assert _fetch("hearth-file", tmp_path / "plugins") == "hearth-file 0.1.0 is installed"
    assert (tmp_path / "plugins" / "hearth_file.zip").is_file()
    assert _fetch("hearth-file", tmp_path / "plugins") == "hearth-file 0.1.0 is up to date"


def test_an_unreadable_bundle_is_packed_again(tmp_path: Path) -> None:
    """An earlier version packed it from the same files."""
    project, plugin_path = Path(__file__).parents[3] / "plugins" / "file", tmp_path / "plugins"
    assert _pack(project, plugin_path, tmp_path).startswith("packed into ")
    assert _pack(project, plugin_path, tmp_path).endswith(" is up to date")
    (bundle,) = plugin_path.iterdir()
    good = bundle.read_bytes()
    bundle.write_bytes(good[:100])
    assert _pack(project, plugin_path, tmp_path).startswith("packed into ")
    assert bundle.read_bytes() == good
