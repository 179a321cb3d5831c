"""`hearth consume` and `hearth produce` through converters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.foundation.properties import render
from tests.integration.cli.conftest import Cli, Printed
from tests.peer.topic import Record, Topics

JSON = "org.apache.kafka.connect.json.JsonConverter"
LONG = "org.apache.kafka.connect.converters.LongConverter"


def lines(printed: Printed) -> list[dict[str, object]]:
    """Return the printed records."""
    assert printed.code == 0, printed
    return [json.loads(line) for line in printed.out.splitlines()]


@pytest.fixture
def kafka(topics: Topics) -> tuple[str, str]:
    """Provide the options for the brokers."""
    return "--bootstrap-servers", topics.bootstrap_servers


def test_records_return_as_they_were_written(
    program: Cli, kafka: tuple[str, str], topics: Topics, tmp_path: Path
) -> None:
    """As texts, with headers, partition and timestamp; a tombstone is null."""
    topics.create("r-texts", 2)
    path = tmp_path / "in.jsonl"
    first = {"key": "k", "value": "ü", "headers": {"h": "1"}, "partition": 1, "timestamp": 1_700_000_000_000}
    path.write_text(f'{json.dumps(first)}\n\n{{"key": "gone", "value": null, "partition": 0}}\n')
    done = program("produce", "r-texts", *kafka, "--file", str(path))
    assert (done.code, done.err) == (0, "2 records are written to r-texts\n")
    sent = Record(b"k", "ü".encode(), (("h", b"1"),), 1)
    assert [each for each in topics.read("r-texts") if each.partition == 1] == [sent]
    found = {each["partition"]: each for each in lines(program("consume", "r-texts", *kafka))}
    assert found[1] == {"partition": 1, "offset": 0, **{k: v for k, v in first.items() if k != "partition"}}
    assert (found[0]["key"], found[0]["value"]) == ("gone", None)


def test_any_converters_data_passes_through_envelopes(
    program: Cli, kafka: tuple[str, str], topics: Topics, tmp_path: Path
) -> None:
    """Schemas and all; a connector's file has the converters."""
    topics.create("r-numbers")
    config = {"name": "c", "connector.class": "X", "topics": "r-numbers", "value.converter": LONG, "transforms": "no"}
    (tmp_path / "c.properties").write_text(render(config))
    enveloped = {"value": {"schema": {"type": "int64"}, "payload": 7}}
    (tmp_path / "in.jsonl").write_text(json.dumps(enveloped))
    converter = ("--connector", str(tmp_path / "c.properties"), "--enveloped")
    assert program("produce", "r-numbers", *kafka, *converter, "--file", str(tmp_path / "in.jsonl")).code == 0
    assert topics.read("r-numbers")[0].value == (7).to_bytes(8, "big")
    (found,) = lines(program("consume", "r-numbers", *kafka, *converter))
    assert found["value"] == {"schema": {"type": "int64", "optional": True}, "payload": 7}
    (plain,) = lines(program("consume", "r-numbers", *kafka, "--set", f"value.converter={LONG}"))
    assert plain["value"] == 7


def test_structs_are_plain_json(program: Cli, kafka: tuple[str, str], topics: Topics) -> None:
    """Without their schema."""
    topics.create("r-structs")
    schema = {"type": "struct", "fields": [{"field": "a", "type": "int32"}], "optional": False}
    topics.produce("r-structs", [Record(None, json.dumps({"schema": schema, "payload": {"a": 1}}).encode())])
    (found,) = lines(program("consume", "r-structs", *kafka, "--set", f"value.converter={JSON}"))
    assert found["value"] == {"a": 1}


def test_records_that_cannot_be_read_are_reported(program: Cli, kafka: tuple[str, str], topics: Topics) -> None:
    """With their place; the others are printed."""
    topics.create("r-mixed")
    topics.produce("r-mixed", [Record(None, value) for value in (b"1", b"{", b"2", b"3")])
    plain = ("--set", f"value.converter={JSON}", "--set", "value.converter.schemas.enable=false")
    found = program("consume", "r-mixed", *kafka, *plain)
    assert (found.code, [json.loads(line)["value"] for line in found.out.splitlines()]) == (1, [1, 2, 3])
    assert found.err.startswith("error: 0:1: ")
    assert [each["value"] for each in lines(program("consume", "r-mixed", *kafka, *plain, "--from", "2"))] == [2, 3]
    assert [each["value"] for each in lines(program("consume", "r-mixed", *kafka, *plain, "--limit", "1"))] == [1]
    assert lines(program("consume", "r-mixed", *kafka, *plain, "--from", "end", "--follow", "--for", "300ms")) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 1 is not JSON"),
        ("[1]", "line 1: a line is no record"),
        ('{"value": "a", "partition": "x"}', "line 1: partition is 'x'"),
        ('{"value": "a", "headers": 1}', "line 1: headers of a line are no object"),
    ],
)
def test_an_invalid_line_is_named(program: Cli, kafka: tuple[str, str], tmp_path: Path, line: str, words: str) -> None:
    """Before it is sent."""
    (tmp_path / "in.jsonl").write_text(line)
    done = program("produce", "never", *kafka, "--file", str(tmp_path / "in.jsonl"))
    assert (done.code, words in done.err) == (2, True), done


def test_wrong_options_are_named(program: Cli, kafka: tuple[str, str], topics: Topics) -> None:
    """A setting without a value, a converter that does not exist, a place that is none."""
    topics.create("r-options")
    assert "not KEY=VALUE" in program("consume", "r-options", *kafka, "--set", "x").err
    assert (
        "Class Nosuch could not be found"
        in program("consume", "r-options", *kafka, "--set", "value.converter=Nosuch").err
    )
    assert "--from 'x' is no place" in program("consume", "r-options", *kafka, "--from", "x").err
