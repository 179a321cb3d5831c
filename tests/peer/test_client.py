"""The client's commands on Java's Kafka Connect, whose REST API is all that they need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.foundation.properties import render
from tests.integration.cli.conftest import Cli, program
from tests.peer.java_connect import JavaConnect
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow

__all__ = ["program"]


@pytest.fixture(scope="module")
def java(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConnect]:
    """Provide one worker of Java for all tests."""
    worker = JavaConnect(tmp_path_factory.mktemp("java"), broker.bootstrap_servers)
    with worker:
        yield worker


@pytest.fixture
def cli(java: JavaConnect, program: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Provide a function that runs a command on that worker."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HEARTH_URL", f"http://127.0.0.1:{java.port}")
    return program


def test_a_connector_lives_from_apply_to_delete(cli: Cli, tmp_path: Path) -> None:
    """Each command does what it does on Hearth."""
    (tmp_path / "in.txt").write_text("one\n")
    config = {
        "name": "c",
        "connector.class": "FileStreamSource",
        "file": str(tmp_path / "in.txt"),
        "topic": "client-java",
    }
    path = tmp_path / "c.properties"
    path.write_text(render(config))
    files = ("-f", str(path))
    assert cli("diff", *files, "--exit-code").code == 4
    assert cli("apply", *files, "--yes", "--wait").code == 0
    assert cli("diff", *files, "--exit-code").code == 0
    assert "c: RUNNING, source 4.3.1 on " in cli("status", "c").out
    assert eventually(lambda: "position=4" in cli("offsets", "get", "c").out, TIMEOUT)
    assert cli("offsets", "reset", "c", "--stop").code == 0
    assert cli("connectors", "wait", "c").code == 0
    path.write_text(render({**config, "batch.size": "7"}))
    changed = cli("apply", *files, "--yes", "--wait")
    assert (changed.code, "~ update c, restarts 1 task" in changed.out) == (0, True)
    for verb, goal in (("pause", "paused"), ("resume", "running"), ("stop", "stopped"), ("resume", "running")):
        assert cli("connectors", verb, "c").code == 0
        assert cli("connectors", "wait", "c", "--for", goal, "--settle", "300ms").code == 0, goal
    restarted = cli("connectors", "restart", "c", "--tasks", "all")
    assert restarted.out == "restarted c: connector RESTARTING, task 0 RESTARTING\n"
    exported = json.loads(cli("export", "c").out)
    assert exported["config"] == {**config, "batch.size": "7"}
    assert cli("connectors", "delete", "c", "--yes").code == 0
    assert cli("connectors", "wait", "c", "--for", "deleted").code == 0


def test_an_invalid_file_is_refused_with_javas_words(cli: Cli, tmp_path: Path) -> None:
    """And a wrong class with the nearest name."""
    (tmp_path / "c.properties").write_text("name=c\nconnector.class=FileStreamSource\ntopic=\n")
    (tmp_path / "d.properties").write_text("name=d\nconnector.class=FileStreamSuorce\n")
    done = cli("apply", "-f", str(tmp_path), "--yes")
    assert done.code == 2
    assert "error: c: invalid configuration:\n  topic: Invalid value for configuration topic" in done.err
    assert "'FileStreamSuorce' is no plugin of the worker, did you mean 'FileStreamSource'?" in done.err


def test_workers_plugins_and_levels_are_shown(cli: Cli, java: JavaConnect) -> None:
    """From the same resources as Hearth's."""
    hosts = cli("hosts", "--json")
    assert (hosts.code, [each["health"] for each in hosts.json["items"]]) == (0, ["healthy"])
    assert "org.apache.kafka.connect.json.JsonConverter" in cli("plugins", "list", "--remote").out
    assert cli("loggers", "set", "org.apache.kafka.clients", "WARN").code == 0
    levels = {each["name"]: each["level"] for each in cli("loggers", "list", "--json").json["items"]}
    assert levels["org.apache.kafka.clients"] == "WARN"
    assert cli("top", "--count", "1").code == 0


def test_what_only_hearth_has_says_so(cli: Cli, tmp_path: Path) -> None:
    """Instead of the worker's 404."""
    (tmp_path / "c.properties").write_text("name=c\nconnector.class=FileStreamSource\ntopic=t\n")
    done = cli("apply", "-f", str(tmp_path), "--owner", "me", "--yes")
    assert (done.code, "this needs Hearth" in done.err) == (2, True)
    assert cli("apply", "-f", str(tmp_path), "--yes").code == 0
    explained = cli("explain", "c")
    assert (explained.code, "this needs Hearth" in explained.err) == (2, True)
    assert cli("connectors", "delete", "c", "--yes").code == 0
