"""`hearth preview` shows each step of a few records, and leaves everything as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from hearth.foundation.properties import render
from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.integration.thread_host import file_sink, file_source
from tests.peer.topic import Record, Topics

JSON = "org.apache.kafka.connect.json.JsonConverter"
STEPS = {
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    "transforms": "tag,drop",
    "transforms.tag.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.tag.static.field": "tag",
    "transforms.tag.static.value": "${dir:secrets:pin}",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.drop.predicate": "gone",
    "predicates": "gone",
    "predicates.gone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
}


def groups(topics: Topics) -> set[str]:
    """Return the consumer groups of the broker."""
    found = AdminClient({"bootstrap.servers": topics.bootstrap_servers}).list_consumer_groups().result(30)
    return {each.group_id for each in found.valid}


@pytest.fixture
def file(host: Host, name: str, topics: Topics, tmp_path: Path) -> Iterator[Path]:
    """Provide the file of a sink with transformations, and a topic of three records; nothing may change."""
    (host.secrets / "pin").write_text("hunter2")
    topics.create(name)
    topics.produce(name, [Record(b"k", value, (("h", b"1"),)) for value in (b'{"a":1}', b"{bad", None)])
    steps = {key: value.replace("secrets", str(host.secrets)) for key, value in STEPS.items()}
    path = tmp_path / "sink.properties"
    path.write_text(render({**file_sink(name, tmp_path / "out.txt", name), **steps}))
    before = (topics.names(), groups(topics), topics.count(name))
    yield path
    assert (topics.names(), groups(topics), topics.count(name)) == before
    assert not (tmp_path / "out.txt").exists()
    assert name not in host.rest.call("GET", "/connectors").json


def outcomes(record: Any) -> list[tuple[str, str]]:
    """Return the steps of a record with their outcomes."""
    return [(each["step"], each["outcome"]) for each in record["steps"]]


def test_a_sinks_records_are_shown_step_by_step(cli: Cli, file: Path) -> None:
    """What each step changed, which predicate dropped a record, and the phase of an error; secrets are hidden."""
    shown = cli("preview", str(file), "--json")
    assert shown.code == 0, shown
    assert "hunter2" not in shown.out
    good, bad, gone = shown.json["records"]
    assert outcomes(good) == [
        ("consume", "passed"), ("convert", "passed"), ("transforms.tag", "changed"), ("transforms.drop", "passed")
    ]  # fmt: skip
    tagged = good["steps"][2]
    assert tagged["changes"] == [{"path": "value.tag", "from": None, "to": "[hidden]"}]
    assert tagged["record"]["value"] == {"a": 1, "tag": "[hidden]"}
    assert tagged["record"]["headers"] == [["h", "1"]]
    assert outcomes(bad) == [("consume", "passed"), ("convert", "failed")]
    assert bad["steps"][1]["error"]
    assert outcomes(gone)[-1] == ("transforms.drop", "filtered")
    assert gone["steps"][-1]["predicate"] == "predicates.gone"
    assert shown.json["ended"] == "end"
    text = cli("preview", str(file), "--limit", "1").out
    assert '    value.tag: null → "[hidden]"' in text
    assert text.endswith("1 records, ended by limit\n")
    assert '"a": "int"' in cli("preview", str(file), "--limit", "1", "--values", "shape", "--json").out


def test_given_records_test_transformations(cli: Cli, file: Path, tmp_path: Path) -> None:
    """Without a topic; what is expected of them is compared."""
    (tmp_path / "given.jsonl").write_text('{"key": "k", "value": {"b": 2}}\n{"value": null}\n')
    (tmp_path / "expected.jsonl").write_text('{"value": {"b": 2, "tag": "[hidden]"}}\n')
    given = ("--records", str(tmp_path / "given.jsonl"), "--expect", str(tmp_path / "expected.jsonl"))
    assert cli("preview", str(file), *given).code == 0
    (tmp_path / "expected.jsonl").write_text('{"value": {"b": 3}}\n')
    differing = cli("preview", str(file), *given)
    assert (differing.code, "record 1: value is" in differing.err) == (4, True)


def test_a_source_is_polled_only_on_request(cli: Cli, host: Host, name: str, tmp_path: Path, topics: Topics) -> None:
    """Up to the bytes that it would send; never beside a connector that runs."""
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    hoist = {"transforms": "h", "transforms.h.type": "org.apache.kafka.connect.transforms.HoistField$Value"}
    config = {**file_source(name, tmp_path / "in.txt", name), **hoist, "transforms.h.field": "line"}
    config |= {"value.converter": JSON, "value.converter.schemas.enable": "false"}
    path = tmp_path / "source.json"
    path.write_text(json.dumps({"name": name, "config": config}))
    refused = cli("preview", str(path))
    assert (refused.code, "may be noticed" in refused.err) == (2, True)
    shown = cli("preview", str(path), "--accept-effects", "--limit", "2", "--json").json
    assert outcomes(shown["records"][1]) == [("poll", "passed"), ("transforms.h", "changed"), ("convert", "passed")]
    assert shown["records"][1]["steps"][-1]["record"] == {
        "topic": name, "key": None, "value": '{"line":"two"}', "headers": [], "bytes": 14
    }  # fmt: skip
    assert name not in topics.names()
    host.run({**config, "topic": f"{name}-real"})
    beside = cli("preview", name, "--accept-effects")
    assert (beside.code, "is running" in beside.err) == (2, True)


def test_a_preview_on_this_machine_needs_no_cluster(cli: Cli, host: Host, file: Path) -> None:
    """But a worker's file."""
    here = cli("preview", str(file), "--worker-config", str(host.folder / "worker.properties"), "--json")
    assert here.code == 0
    assert len(here.json["records"]) == 3


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "a preview needs config"),
        ({"config": {}, "recrods": []}, "did you mean 'records'"),
        ({"config": {}, "limit": True}, "limit is True, which has the wrong type"),
        ({"config": {}, "limit": 1001}, "limit is 1001, expected 1 to 1000"),
        ({"config": {}, "seconds": 0}, "seconds is 0, expected up to 60"),
        ({"config": {}, "from": "later"}, "expected beginning, end or committed"),
    ],
)
def test_an_invalid_request_is_refused(host: Host, body: dict[str, Any], words: str) -> None:
    """With the member."""
    answer = host.rest.call("POST", "/hearth/preview", body)
    assert (answer.status, words in answer.text) == (400, True), answer


def test_two_previews_at_a_time(host: Host, name: str, topics: Topics) -> None:
    """A third is refused with 429."""
    topics.create(name)
    body = {"config": file_sink(name, Path("/nowhere"), name), "from": "end", "seconds": 4}
    with ThreadPoolExecutor(3) as pool:
        asked = [pool.submit(host.rest.call, "POST", "/hearth/preview", body) for _ in range(3)]
        answers = [each.result() for each in asked]
    assert sorted(each.status for each in answers) == [200, 200, 429]
    assert {each.json["ended"] for each in answers if each.status == 200} == {"time"}
