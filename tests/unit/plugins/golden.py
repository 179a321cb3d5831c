"""Hearth's answers to the cases of golden files, in the form of Java's."""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from hearth_api import (
    ConfigError,
    ConnectError,
    DataError,
    Header,
    Schema,
    SchemaBuilderError,
    SinkRecord,
    TimestampType,
)
from hearth_execution.load import load_class
from hearth_json import JsonConverter
from hearth_json.tree import read_tree
from tests.unit.plugins.sample import build, form, message

ROOT = Path(__file__).parents[3] / "plugins"
TRANSFORMS = "org.apache.kafka.connect.transforms."
ERRORS = {
    "ConfigException": ConfigError,
    "ConnectException": ConnectError,
    "DataException": DataError,
    "SchemaBuilderException": SchemaBuilderError,
}
"""The author API's counterparts of Kafka Connect's errors; any other is one that Java did not mean to raise."""


@cache
def classes() -> dict[str, type[Any]]:
    """Return the classes that the first-party projects register, by Kafka's names."""
    texts = (path.read_text("utf-8") for path in ROOT.glob("*/pyproject.toml"))
    entries = [entry for text in texts for entry in re.findall(r'^"(\S+)" = "(\S+:\w+)"$', text, re.MULTILINE)]
    return {name: load_class(path) for name, path in entries}


@cache
def envelope() -> JsonConverter:
    """Return the converter that reads and writes schemas."""
    made = JsonConverter()
    made.configure({}, is_key=False)
    return made


def converter(case: dict[str, Any]) -> Any:
    """Return the converter of a case as a header converter, whose type is in the settings."""
    made = classes()[case["converter"]]()
    made.configure({"converter.type": "value", **case.get("config", {})})
    return made


def configured(case: dict[str, Any]) -> Any:
    """Return the transformation or predicate of a case."""
    made = classes()[TRANSFORMS + case["class"]]()
    made.configure(case["config"])
    return made


def schema_of(tree: Any) -> Schema | None:
    """Return the schema for a JSON description."""
    return envelope()._schema_reader.schema(read_tree(json.dumps(tree).encode()))


def schema_form(schema: Schema | None) -> Any:
    """Return a schema as JSON."""
    return json.loads(envelope()._schemas.text(schema))


def record_of(node: dict[str, Any]) -> SinkRecord:
    """Return the record of a case."""
    key, value = (_side(node.get(name)) for name in ("key", "value"))
    headers = [Header(name, *_side(side)) for name, side in node.get("headers", ())]
    timestamp = node.get("timestamp")
    kind = TimestampType.NO_TIMESTAMP_TYPE if timestamp is None else TimestampType.CREATE_TIME
    return SinkRecord(node.get("topic", "test"), 2, *key, *value, 77, timestamp, kind, headers)


def _side(node: dict[str, Any] | None) -> tuple[Schema | None, Any]:
    if node is None:
        return None, None
    schema = schema_of(node["schema"])
    return schema, build(schema, node["value"])


def record_form(record: SinkRecord) -> dict[str, Any]:
    """Return what a record has that transformations change."""
    node: dict[str, Any] = {} if record.topic == "test" else {"topic": record.topic}
    sides = {"key": (record.key_schema, record.key), "value": (record.value_schema, record.value)}
    node |= {name: _side_form(*side) for name, side in sides.items() if side != (None, None)}
    if record.has_headers:
        node["headers"] = [[each.key, _side_form(each.schema, each.value)] for each in record.headers]
    return node


def _side_form(schema: Schema | None, value: Any) -> dict[str, Any]:
    return {"schema": schema_form(schema), "value": form(schema, value)}


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Return the members that an answer adds to a case, with the error itself as `error`."""
    try:
        return _ANSWERS[case["op"]](case)
    except ConnectError as error:
        return {"error": error, "message": str(error)}


def _written(case: dict[str, Any]) -> dict[str, Any]:
    schema = schema_of(case["schema"])
    data = converter(case).from_connect_header("t", "h", schema, build(schema, case["value"]))
    return {"bytes": data}


def _read(case: dict[str, Any]) -> dict[str, Any]:
    schema, value = converter(case).to_connect_header("t", "h", message(case))
    if "accepted" in case:
        return {"accepted": True}
    if "javanull" in case and (schema, value) == (None, None):
        return {"javanull": True}
    return {"out_schema": schema_form(schema), "out": form(schema, value)}


def _applied(case: dict[str, Any]) -> dict[str, Any]:
    transformation = configured(case)
    if "record" not in case:
        return {}
    record = transformation.apply(record_of(case["record"]))
    return {"out": None if record is None else record_form(record)}


def _tested(case: dict[str, Any]) -> dict[str, Any]:
    predicate = configured(case)
    return {"out": predicate.test(record_of(case["record"]))} if "record" in case else {}


_ANSWERS = {"write": _written, "read": _read, "apply": _applied, "test": _tested}


def expected_bytes(case: dict[str, Any]) -> bytes | None:
    """Return what Java wrote."""
    if "raw" in case:
        return base64.b64decode(case["raw"])
    return None if case["bytes"] is None else str(case["bytes"]).encode()


def agrees(case: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Tell whether an answer is Java's: to the letter, but for what Python has no types for."""
    if "message" in case:
        kind = ERRORS.get(case["error"])
        if kind is None:
            return "error" in ours
        return isinstance(ours.get("error"), kind) and wording(ours["message"]) == wording(case["message"])
    if "unheld" in case or ("unwritable" in case and "error" in ours):
        return True
    if case["op"] == "write":
        return ours == {"bytes": expected_bytes(case)}
    theirs = {name: case[name] for name in ("accepted", "javanull", "out_schema", "out") if name in case}
    return json.dumps(_without_sizes(ours), default=str) == json.dumps(_without_sizes(theirs))


def wording(text: str) -> str:
    """Return a message with one name for all sizes of numbers, and without those of classes in Python and Java."""
    text = re.sub(r"Invalid (Java|Python) object (.*): class [\w.\[]+", r"Invalid object \2", text)
    text = re.sub(r"java\.lang\.(Byte|Short|Integer)\b", "java.lang.Long", text)
    return text.replace("java.lang.Float", "java.lang.Double").replace("LinkedHashMap", "HashMap")


def _without_sizes(tree: Any) -> Any:
    """Return an answer without the sizes of numbers that have no schema, because Python numbers have none."""
    if isinstance(tree, list):
        return [_without_sizes(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    sizeless = {name: _without_sizes(item) for name, item in tree.items()}
    for schema, value in (("schema", "value"), ("out_schema", "out")):
        if schema in sizeless and value in sizeless and _is_mixed(sizeless[schema]):
            sizeless[value] = _wide(sizeless[value])
    return sizeless


def _is_mixed(schema: Any) -> bool:
    """Tell whether a schema leaves open what a value or something in it is."""
    if isinstance(schema, dict):
        return any(_is_mixed(schema[part]) for part in ("items", "keys", "values") if part in schema)
    return schema is None


def _wide(tree: Any) -> Any:
    if isinstance(tree, list):
        if len(tree) == 2 and tree[0] in ("i8", "i16", "i32"):
            return ["i64", tree[1]]
        if len(tree) == 2 and tree[0] == "f32":
            return ["f64", tree[1]]
        return [_wide(item) for item in tree]
    return {name: _wide(item) for name, item in tree.items()} if isinstance(tree, dict) else tree
