"""What Kafka Connect 4.3.1 made of records, as KafkaTransform.java told it, is what Hearth makes of them.

The cases are lines of kafka_transform.json; a new one is written without its answer, which the program fills in:

    java -cp JARS KafkaTransform.java kafka_transform.json
"""

from __future__ import annotations

import datetime as dt
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hearth_api import ConnectError, Date, Header, Schema, SchemaAndValue, SinkRecord, Time, Timestamp, TimestampType
from hearth_api.batch import BatchTransformation, records_to_batches
from hearth_json.converter import JsonConverter
from tests.unit.plugins.transforms.sample import check_forms, numbered
from tests.unit.plugins.transforms.test_definition import plugins

CASES = json.loads(Path(__file__).with_name("kafka_transform.json").read_text())
BEYOND_JAVA = ("NullPointerException", "IllegalArgumentException")
"""What Java fails with where it did not think of the case; Hearth says in words what is wrong."""
_DAY = 86_400_000


@cache
def converter() -> JsonConverter:
    """Return the converter that writes both sides down."""
    found = JsonConverter()
    found.configure({"schemas.enable": "true", "replace.null.with.default": "false"}, is_key=False)
    return found


def read_side(node: dict[str, Any]) -> SchemaAndValue:
    """Return the schema and value that a case tells."""
    if "plain" in node:
        return SchemaAndValue(None, read_plain(node["plain"]))
    return converter().to_connect_data("t", json.dumps(node).encode())


def read_plain(node: Any) -> Any:
    """Return a value without schema."""
    if isinstance(node, list):
        return [read_plain(item) for item in node]
    if isinstance(node, dict):
        if "@date" in node:
            return Timestamp.to_logical(Timestamp.SCHEMA, node["@date"])
        return {name: read_plain(item) for name, item in node.items()}
    return node


def read_record(node: dict[str, Any]) -> SinkRecord:
    """Return the record of a case."""
    nothing = {"plain": None}
    key, value = read_side(node.get("key", nothing)), read_side(node.get("value", nothing))
    headers = [Header(name, *read_side(side)) for name, side in node.get("headers", ())]
    kind = TimestampType.CREATE_TIME
    return SinkRecord(node.get("topic", "test"), 2, *key, *value, 77, node.get("timestamp"), kind, headers)


def write_side(schema: Schema | None, value: Any) -> Any:
    """Return what the answer of a case would hold."""
    if schema is None:
        return {"plain": write_plain(value)}
    written = converter().from_connect_data("t", schema, value)
    return None if written is None else json.loads(written)


def write_plain(value: Any) -> Any:
    """Return a value without schema; all kinds of time are one class in Java."""
    if isinstance(value, list):
        return [write_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: write_plain(item) for name, item in value.items()}
    if isinstance(value, dt.datetime):
        return {"@date": Timestamp.from_logical(Timestamp.SCHEMA, value)}
    if isinstance(value, dt.date):
        return {"@date": Date.from_logical(Date.SCHEMA, value) * _DAY}
    return {"@date": Time.from_logical(Time.SCHEMA, value)} if isinstance(value, dt.time) else value


def write_record(record: SinkRecord) -> dict[str, Any]:
    """Return a record as an answer holds it."""
    node: dict[str, Any] = {}
    if record.topic != "test":
        node["topic"] = record.topic
    if (record.key_schema, record.key) != (None, None):
        node["key"] = write_side(record.key_schema, record.key)
    node["value"] = write_side(record.value_schema, record.value)
    if record.has_headers:
        node["headers"] = [[each.key, write_side(each.schema, each.value)] for each in record.headers]
    return node


def answered(case: dict[str, Any]) -> dict[str, Any]:
    """Return Hearth's answer to a case."""
    try:
        transformation = configured(case)
        record = case.get("record")
        if record is None:
            return {}
        transformed = transformation.apply(read_record(record))
        return {"record": None if transformed is None else write_record(transformed)}
    except ConnectError as error:
        return {"error": str(error)}


def configured(case: dict[str, Any]) -> BatchTransformation:
    """Return the transformation of a case."""
    transformation: BatchTransformation = dict(plugins())[case["class"]]()
    transformation.configure(case["config"])
    return transformation


def named() -> list[Any]:
    """Return the cases with names that tell them apart."""
    return [pytest.param(case, id=f"{number}-{case['class']}") for number, case in enumerate(CASES)]


@pytest.mark.parametrize("case", named())
def test_a_transformation_answers_as_kafkas_does(case: dict[str, Any]) -> None:
    """Topics, schemas, values, headers and messages agree; the order of a map's members as well."""
    expected = case["answer"]
    ours = answered(case)
    if expected.get("class") in BEYOND_JAVA:
        assert ours["error"]
    else:
        assert json.dumps(ours) == json.dumps({name: part for name, part in expected.items() if name != "class"})


@pytest.mark.parametrize("case", [case for case in named() if "record" in case.values[0]["answer"]])
def test_a_batch_answers_as_kafkas_records_do(case: dict[str, Any]) -> None:
    """What the columns give is what the records gave."""
    (batch,) = records_to_batches([read_record(case["record"])])
    check_forms(configured(case), numbered(batch))
