"""`hearth standalone` as a user runs it: connectors from files, a clean end, and errors that prevent the start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hearth.broker import KafkaBroker
from hearth.cli.host_run import create
from hearth.client.connector_file import read_connector_file
from hearth.foundation.properties import render
from hearth_api import ConfigError
from tests.crash.process import await_end, tree
from tests.integration.thread_host import ThreadHost
from tests.peer.hearth_connect import file_bundle, hearth_environment
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow
STRING = "org.apache.kafka.connect.storage.StringConverter"


class Command:
    """The command with a valid worker file and the test's connector files."""

    def __init__(self, folder: Path, broker: KafkaBroker) -> None:
        self.folder = folder
        self._environment = hearth_environment()
        self._settings = {
            "bootstrap.servers": broker.bootstrap_servers,
            "key.converter": STRING,
            "value.converter": STRING,
            "offset.storage.file.filename": str(folder / "offsets"),
            "offset.flush.interval.ms": "500",
            "listeners": "http://127.0.0.1:0",
            "plugin.path": str(file_bundle()),
        }

    @contextmanager
    def start(self, *files: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """Start it in its own session, so that a signal can reach all its processes; kill it if the test fails."""
        worker = self.folder / "worker.properties"
        worker.write_text(render(self._settings))
        command = [sys.executable, "-m", "hearth", "standalone", str(worker), *map(str, files)]
        variables = {**self._environment, **environment}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables, start_new_session=True
        ) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise

    def refused(self, *files: Path, **environment: str) -> tuple[int, str]:
        """Run it to its end; return exit code and output."""
        with self.start(*files, **environment) as process:
            _, errors = process.communicate(timeout=120)
        assert "Traceback" not in errors
        return process.returncode, errors

    def file(self, name: str, config: Mapping[str, str]) -> Path:
        """Write a connector file."""
        path = self.folder / f"{name}.properties"
        path.write_text(render({"name": name, **config}))
        return path


@pytest.fixture
def command(tmp_path: Path, broker: KafkaBroker) -> Command:
    """Provide a command."""
    return Command(tmp_path, broker)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_connectors_from_files_run_until_a_signal(command: Command, number: signal.Signals) -> None:
    """A signal, or a terminal's Ctrl-C to all processes, drains the tasks; no process is left."""
    source, sink = command.folder / "in.txt", command.folder / "out.txt"
    source.write_text("one\ntwo\n")
    topic = f"command-{number.name.lower()}"
    first = command.file(
        f"{topic}-source", {"connector.class": "FileStreamSource", "file": str(source), "topic": topic}
    )
    second = command.folder / "sink.json"
    config = {"connector.class": "FileStreamSink", "file": str(sink), "topics": topic}
    second.write_text(json.dumps({"name": f"{topic}-sink", "config": config}))
    with command.start(first, second) as process:
        arrived = eventually(lambda: sink.exists() and sink.read_text() == "one\ntwo\n", 90)
        everyone = tree(process.pid)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        output, errors = process.communicate(timeout=60)
    assert arrived, errors
    assert "serves http://127.0.0.1:" in output
    assert process.returncode == 0, errors
    assert "Traceback" not in errors
    for line in ("source|worker] the connector is RUNNING", "source|task-0] the task runs in process",
                 "sink|task-0] partitions assigned: ", "sink|task-0] the task has stopped"):  # fmt: skip
        assert errors.count(f"[{topic}-{line}") == 1, errors
    await_end(everyone)
    committed = json.loads((command.folder / "offsets").read_text())["offsets"]
    assert committed[f"{topic}-source"] == [[{"filename": str(source)}, {"position": 8}]]


def test_a_wrong_connector_file_ends_the_host(command: Command) -> None:
    """The message names the file; exit code 2."""
    path = command.file("wrong", {"connector.class": "FileStreamSurce", "topic": "t"})
    code, errors = command.refused(path)
    assert code == 2, errors
    for part in (f"error: {path}", "Failed to find any class", "FileStreamSource"):
        assert part in errors


@pytest.fixture(scope="module")
def host(broker: KafkaBroker) -> Iterator[ThreadHost]:
    """Provide a host that accepts connectors."""
    with ThreadHost(broker.bootstrap_servers) as host:
        yield host


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"connector.class": "FileStreamSource"}, 'Missing required configuration "topic"'),
        ({"connector.class": "FileStreamSource", "topic": "t", "tasks.max": "x"}, "Not a number of type INT"),
        ({"topic": "t"}, "contains no connector type"),
    ],
)
def test_an_invalid_connector_file_is_reported_with_its_path(
    host: Any, command: Command, config: dict[str, str], says: str
) -> None:
    """As bad input, which has its own exit code."""
    path = command.file("wrong", config)
    with pytest.raises(ConfigError, match=says) as caught:
        create(host, read_connector_file(path))
    assert str(caught.value).startswith(f"{path}: ")


def test_one_name_in_two_files_is_a_conflict(command: Command) -> None:
    """Neither silently replaces the other; exit code 1."""
    config = {"connector.class": "FileStreamSource", "topic": "t"}
    first = command.file("twice", config)
    second = command.folder / "again.properties"
    second.write_text(first.read_text())
    code, errors = command.refused(first, second)
    assert code == 1
    assert f"{second}: Connector twice already exists" in errors


def test_a_java_that_is_too_old_is_reported(command: Command, tmp_path: Path) -> None:
    """Spark would fail later and with more output; exit code 3."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="11.0.2"\n')
    code, errors = command.refused(JAVA_HOME=str(tmp_path / "jdk"))
    assert code == 3
    assert "is Java 11, Java 17 or newer is required" in errors
    assert "hint: " in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_host_that_ends_while_spark_starts_leaves_no_process(
    command: Command, tmp_path: Path, number: signal.Signals
) -> None:
    """A JVM reads its input, which ends with its host, only after its start; it ends then.

    If the host is killed, a file that the JVM wrote for it stays, which is useless to others. The settings do not.
    """
    folder = tmp_path / "temporary"
    folder.mkdir()
    with command.start(TMPDIR=str(folder)) as process:
        assert eventually(
            lambda: any("SparkSubmit" in each.command for each in tree(process.pid)), TIMEOUT, every=0.01
        )
        everyone = tree(process.pid)
        process.send_signal(number)
        process.communicate(timeout=60)
    await_end(everyone)
    left = [each.name for each in folder.rglob("*") if not each.is_dir()]
    assert left == ([] if number is signal.SIGTERM else ["gateway"])
