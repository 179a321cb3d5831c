"""Runs the guides: their commands in order, and their requests to a running worker."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

import hearth
from hearth.broker import KafkaBroker
from hearth.cli.local import LocalHost
from hearth.cli.main import run
from hearth.foundation.child import start_child, stop_child
from hearth.foundation.properties import parse, render
from tests.own_home import own_home
from tests.page import GUIDE, PAGES, README, ROOT, SERVER, block, commands, file, request
from tests.peer.hearth_connect import file_bundle
from tests.peer.topic import Topics
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

ELSEWHERE = ("broker", "distributed", "quickstart", "registry", "schemas", "standalone")
"""Commands that need or start a server: the tests of each run it."""
CLIENT = f"{GUIDE}/client.md"
AUTHORS = (f"{GUIDE}/write-a-plugin.md", f"{GUIDE}/package.md")


@contextmanager
def worker(folder: Path, settings: dict[str, str], mode: str = "standalone") -> Iterator[LocalHost]:
    """Run a worker whose files are in a folder."""
    host = LocalHost(folder, reserve_port(), settings, mode)
    try:
        host.start()
        yield host
    finally:
        host.stop()


def send(host: LocalHost, line: str) -> Any:
    """Send the request of a `curl` line, until a resource that was just created responds."""
    sent = request(line)
    body = sent.body and (Path(sent.body[1:]).read_bytes() if sent.body.startswith("@") else sent.body.encode())
    headers = {} if sent.media_type is None else {"Content-Type": sent.media_type}
    given = urllib.request.Request(host.url + sent.target, body or None, headers, method=sent.method)
    answers: list[bytes] = []

    def is_answered() -> bool:
        try:
            with urllib.request.urlopen(given, timeout=TIMEOUT) as answer:
                is_json = answer.headers["content-type"] == "application/json"
                answers.append(answer.read() if is_json else json.dumps(answer.read().decode()).encode())
        except urllib.error.HTTPError as error:
            with error:
                if error.code not in (404, 409):
                    pytest.fail(f"{line}: {error.code} {error.read()!r}")
            return False
        return True

    assert eventually(is_answered, TIMEOUT), line
    return json.loads(answers[0] or b"null")


def test_the_author_guides_commands_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broker: KafkaBroker
) -> None:
    """Without an index and without the user's own settings; the requests go to a worker with the same plugin.path."""
    monkeypatch.setenv("HEARTH_HOME", own_home(tmp_path))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    lines = list(commands(*AUTHORS))
    assert len(lines) > 25
    for line in lines:
        words = shlex.split(line)
        if words[0] == "cd":
            monkeypatch.chdir(words[1])
        elif words[:2] == ["hearth", "run"] or words[0] == "curl":
            continue
        elif words[0] == "hearth":
            assert run(words[1:]) == 0, (line, capsys.readouterr())
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            sources = f"src{os.pathsep}{Path(hearth.__file__).parents[1]}"
            shell = line.replace("PYTHONPATH=src", f"PYTHONPATH={shlex.quote(sources)}")
            subprocess.run(shell, shell=True, check=True, env={**os.environ, "PATH": path}, capture_output=True)
    output = capsys.readouterr().out
    assert re.search(
        r"^upgraded orders-source from 0\.1\.0 to 0\.2\.0 in .*/plugins/orders_source\.zip$", output, re.M
    )
    assert "rolled orders-source back from 0.2.0 to 0.1.0" in output
    assert not list((tmp_path / "plugins").glob("*.zip"))
    settings = {**given("worker.properties", broker), "plugin.path": str(tmp_path / "plugins")}
    with worker(tmp_path, {**settings, "plugin.rest.install.enable": "true"}) as host:
        changes = [send(host, line) for line in lines if line.startswith("curl ")]
        (plugin,) = host.request("GET", "/connector-plugins")
    assert plugin["class"] == "com.shop.OrdersSourceConnector"
    assert len(changes) == 4


def test_the_user_guides_commands_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each in a directory with the files that the guides show; one with --strict may report findings."""
    monkeypatch.setenv("HEARTH_HOME", own_home(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plugins").symlink_to(ROOT / "plugins")
    (tmp_path / "plugin_path").mkdir()
    (tmp_path / "worker.properties").write_text(file("worker.properties"))
    pages = (f"{GUIDE}/plugins.md", *(page for page in PAGES if page not in (*AUTHORS, CLIENT)))
    lines = dict.fromkeys(line for line in commands(*pages) if line.startswith("hearth ") and "counter" not in line)
    ran = 0
    for words in map(shlex.split, lines):
        if words[1] not in ELSEWHERE:
            code = run(words[1:])
            assert code == 0 or ("--strict" in words and code in (2, 3)), (words, capsys.readouterr())
            ran += 1
    assert ran > 10


def test_the_client_guides_commands_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broker: KafkaBroker
) -> None:
    """On a worker with the files that the guide shows; every command that it names is run."""
    monkeypatch.setenv("HEARTH_HOME", own_home(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "connectors").mkdir()
    (tmp_path / "connectors" / "lines.yaml").write_text(file("connectors/lines.yaml"))
    for name in ("given.jsonl", "values.jsonl"):
        (tmp_path / name).write_text(file(name))
    (tmp_path / "in.txt").write_text("a\n")
    (tmp_path / "worker.properties").write_text(render(given("worker.properties", broker)))
    Topics(broker.bootstrap_servers).create("client-dead")
    with worker(tmp_path, given("worker.properties", broker)) as host:
        for line in commands(CLIENT):
            words = [host.url if word == f"http://{SERVER}" else word for word in shlex.split(line)]
            assert run(words[1:]) == 0, (line, capsys.readouterr())
        assert host.request("GET", "/connectors") == []
    assert json.loads((tmp_path / "exported" / "client-lines.json").read_text())["config"]["topic"] == "client-lines"


def given(name: str, broker: KafkaBroker) -> dict[str, str]:
    """Return the settings of a guide's worker file, with the tests' broker and bundles."""
    settings = {key: value or "" for key, value in parse(file(name).encode("latin-1")).items()}
    assert settings["bootstrap.servers"] == "localhost:9092"
    return {**settings, "bootstrap.servers": broker.bootstrap_servers, "plugin.path": str(file_bundle())}


def first_value(broker: KafkaBroker, topic: str) -> bytes:
    """Return the value of the first record of a topic."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "guide",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": "500",
        }
    )
    consumer.subscribe([topic])
    found: list[bytes] = []

    def has_come() -> bool:
        message = consumer.poll(1.0)
        if message is not None and not message.error():
            found.append(message.value() or b"")
        return bool(found)

    try:
        assert eventually(has_come, TIMEOUT)
    finally:
        consumer.close()
    return found[0]


def renamed(text: str, topic: str) -> str:
    """Return a configuration or request of the guides, changed to write to a topic of the test."""
    return text.replace("topic=lines", f"topic={topic}").replace('"topic": "lines"', f'"topic": "{topic}"')


def test_one_configuration_runs_standalone(tmp_path: Path, broker: KafkaBroker) -> None:
    """The command with the worker's and the connector's file, which the README also shows."""
    (line,) = {line for line in commands(README) if line.startswith("hearth standalone")}
    assert line in commands(f"{GUIDE}/start.md")
    port = reserve_port()
    settings = {**given("worker.properties", broker), "listeners": f"http://127.0.0.1:{port}"}
    (tmp_path / "worker.properties").write_text(render(settings))
    (tmp_path / "lines.properties").write_text(renamed(file("lines.properties"), "guide-alone"))
    (tmp_path / "in.txt").write_text("a\n")
    with (tmp_path / "log").open("wb") as log:
        command = [sys.executable, "-m", *shlex.split(line)]
        child = start_child(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            assert first_value(broker, "guide-alone") == b"a"
        finally:
            stop_child(child, TIMEOUT)
    assert child.returncode == 0


def test_a_cluster_serves_all_requests_of_the_guides(tmp_path: Path, broker: KafkaBroker) -> None:
    """Its file and the request that creates the connector are the README's; the others follow page by page."""
    (line,) = {line for line in commands(README) if line.startswith("hearth distributed")}
    assert line in commands(f"{GUIDE}/cluster.md")
    (tmp_path / "in.txt").write_text("a\n")
    pages = [page for page in PAGES if page not in AUTHORS]
    lines = [line for line in commands(*pages) if line.startswith("curl ") and "CounterConnector" not in line]
    assert len(lines) > 20
    with worker(tmp_path, given("cluster.properties", broker), "distributed") as host:
        answers = {line: send(host, renamed(line, "guide-cluster")) for line in lines}
        assert first_value(broker, "guide-cluster") == b"a"
        (validated,) = (answer for line, answer in answers.items() if "flie" in line)
        assert validated["warnings"][0]["name"] == "flie"
        wrapped = parse(renamed(block("properties", "transforms.when"), "guide-wrapped").encode())
        host.request("PUT", "/connectors/wrapped/config", {**wrapped, "name": "wrapped"})
        record = json.loads(first_value(broker, "guide-wrapped"))
    assert record.keys() == {"line", "read_at"}
    assert (record["line"], type(record["read_at"])) == ("a", int)
