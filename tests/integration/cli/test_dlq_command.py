"""`hearth dlq` on the dead letters of a running sink."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.integration.thread_host import file_sink
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually


@pytest.fixture
def sink(host: Host, name: str, topics: Topics, tmp_path: Path) -> str:
    """Provide a sink of JSON, which has met two records that are none."""
    topics.create(name)
    topics.produce(name, [Record(b"k", value) for value in (b'"good"', b"{bad", b"[worse")])
    settings = {
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{name}-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    host.run({**file_sink(name, tmp_path / "out.txt", name), **settings})
    assert eventually(lambda: topics.count(f"{name}-dead") == 2, TIMEOUT)
    return name


def test_letters_are_listed_shown_and_replayed(
    cli: Cli, sink: str, host: Host, topics: Topics, tmp_path: Path
) -> None:
    """By the connector's name, with a worker's file; replayed records fail again, and are counted."""
    kafka = ("--worker-config", str(host.folder / "worker.properties"))
    listed = cli("dlq", "list", sink, *kafka, "--json")
    (group,) = listed.json["items"]
    assert (group["topic"], group["stage"], group["count"]) == (sink, "VALUE_CONVERTER", 2)
    assert cli("dlq", "list", sink, *kafka).out.splitlines()[0].split()[:3] == ["TOPIC", "STAGE", "EXCEPTION"]
    assert cli("dlq", "count", sink, *kafka).out == "2\n"
    shown = cli("dlq", "show", sink, *kafka, "--limit", "1").out
    assert f"  record  {sink}-0 at 2, task {sink}-0" in shown
    assert '  value   "[worse"' in shown
    tried = cli("dlq", "replay", sink, *kafka, "--dry-run")
    assert tried.out.endswith("2 would be replayed\n")
    refused = cli("dlq", "replay", sink, *kafka)
    assert (refused.code, "hint: --yes" in refused.err) == (2, True)
    tried = cli("dlq", "replay", sink, *kafka, "--dry-run", "--to", "elsewhere")
    assert tried.out.startswith("elsewhere:0 VALUE_CONVERTER")
    assert cli("dlq", "replay", sink, *kafka, "--max", "1", "--yes").out == "1 are replayed\n"
    assert eventually(lambda: topics.count(f"{sink}-dead") == 3, TIMEOUT)
    assert "replayed 1 times" in cli("dlq", "show", sink, *kafka).out


def test_a_queue_by_its_topic_needs_no_worker(cli: Cli, sink: str, topics: Topics) -> None:
    """Only the brokers."""
    named = ("--topic", f"{sink}-dead", "--bootstrap-servers", topics.bootstrap_servers)
    assert len(cli("dlq", "show", *named, "--json").json["items"]) == 2
    assert cli("dlq", "show", *named, "--match", "no such thing").out == f"no dead letters in {sink}-dead\n"
    assert cli("dlq", "show", *named, "--match", "(").code == 2


def test_what_is_missing_is_named(cli: Cli, host: Host, pair: tuple[str, str]) -> None:
    """The queue, the worker's file, the topic."""
    kafka = ("--worker-config", str(host.folder / "worker.properties"))
    assert "has no dead letter queue" in cli("dlq", "list", pair[1], *kafka).err
    assert "no worker's file is named" in cli("dlq", "list", pair[1]).err
    assert "no topic 'nosuch'" in cli("dlq", "list", "--topic", "nosuch", *kafka).err
    assert cli("dlq", "list", *kafka).code == 2
