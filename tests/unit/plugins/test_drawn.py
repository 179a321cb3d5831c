"""Converters give the answers of Kafka's own 4.3.1 to values and messages drawn at random by `question`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hearth_api import ConnectError, HeaderConverter, Schema
from hearth_converters import SimpleHeaderConverter
from hearth_json import JsonConverter
from hearth_json.tree import read_tree
from tests.unit.plugins.sample import build, cases, form

GOLDEN = Path(__file__).parent / "golden"
CLASSES: dict[str, type[Any]] = {
    "org.apache.kafka.connect.json.JsonConverter": JsonConverter,
    "org.apache.kafka.connect.storage.SimpleHeaderConverter": SimpleHeaderConverter,
}


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print moments in UTC, the zone the answers were given in."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def converter(case: dict[str, Any]) -> HeaderConverter:
    """Return the converter of a case."""
    made: HeaderConverter = CLASSES[case["converter"]]()
    made.configure({"converter.type": "value", **case.get("config", {})})
    return made


PLAIN = JsonConverter()
PLAIN.configure({}, is_key=False)


def written(case: dict[str, Any]) -> Any:
    """Return the text a value became, or the message."""
    try:
        schema = PLAIN._schema_reader.schema(read_tree(json.dumps(case["schema"]).encode()))
        data = converter(case).from_connect_header("t", "h", schema, build(schema, case["value"]))
    except ConnectError as error:
        return str(error)
    return None if data is None else data.decode()


def read(case: dict[str, Any]) -> Any:
    """Return schema and value that a message became, or the error's message."""
    try:
        schema, value = converter(case).to_connect_header("t", "h", case["in"].encode())
    except ConnectError as error:
        return str(error)
    return schema_form(schema), form(schema, value)


def schema_form(schema: Schema | None) -> Any:
    """Return a schema as the golden files hold it."""
    return json.loads(PLAIN._schemas.text(schema))


def test_written_texts_are_those_of_java() -> None:
    """Or the message is, letter by letter."""
    drawn = cases(GOLDEN / "drawn_writes.jsonl.xz")
    answers = [(case, written(case)) for case in drawn]
    assert [each for each in answers if each[1] != each[0].get("message", each[0].get("bytes"))] == []
    assert len(drawn) == 5_000


def test_read_values_are_those_of_java() -> None:
    """Or the message is, letter by letter; but for what Python or a column cannot hold, as the README tells."""
    drawn = cases(GOLDEN / "drawn_reads.jsonl.xz")
    answers = [(case, read(case)) for case in drawn if "unheld" not in case]
    assert [each for each in answers if each[1] != expected(each[0])] == []
    assert len(drawn) == 5_000
    assert len(answers) > 4_950


def expected(case: dict[str, Any]) -> Any:
    """Return what Java read, or its message."""
    return case["message"] if "message" in case else (case["out_schema"], case["out"])
