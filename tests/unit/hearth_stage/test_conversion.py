"""Conversions as calls: columns and headers go to a converter elsewhere and come back the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth_api import (
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    Batch,
    Header,
    Headers,
    SchemaAndValue,
    SchemaBuilder,
    column_to_headers,
    headers_to_column,
)
from hearth_execution.converter import Converters
from hearth_execution.order import number_rows
from hearth_execution.plugins import Plugins
from hearth_stage import conversion
from hearth_stage.channel import Reply

SAMPLES = Path(__file__).parents[2] / "samples"
HANDLERS = {
    "serialize": conversion.answer_serialize,
    "deserialize": conversion.answer_deserialize,
    "serialize_headers": conversion.answer_write_headers,
    "deserialize_headers": conversion.answer_read_headers,
}


class Wire:
    """Answers calls as a stage does, its members through JSON and its batches through Arrow's form."""

    def __init__(self, converters: Converters) -> None:
        self._converters = converters

    def call(self, op: str, args: dict[str, Any], batches: Sequence[Batch] = ()) -> Reply:
        """Have a request served."""
        request: Any = SimpleNamespace(args=json.loads(json.dumps(args)), batches=[_copied(each) for each in batches])
        reply = HANDLERS[op](self._converters, request)
        return Reply(json.loads(json.dumps(reply.args)), [_copied(each) for each in reply.batches])


def _copied(batch: Batch) -> Batch:
    return Batch.from_arrow(batch.to_arrow())


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Provide converters behind calls."""
    monkeypatch.syspath_prepend(str(SAMPLES))
    plugins = Plugins("source")
    for role, name in {"key.converter": "Text", "value.converter": "TextBatch", "header.converter": "Raw"}.items():
        module = __name__ if name == "Raw" else "sample_plugins"
        plugins.load(role, f"sample.{name}", f"{module}:{name}", {})
    return Wire(Converters(plugins))


class Raw:
    """A header converter that leaves bytes as they are."""

    def configure(self, configs: Any) -> None:
        """Need nothing."""

    def from_connect_header(self, topic: str, key: str, schema: Any, value: Any) -> Any:
        """Return the value."""
        return value

    def to_connect_header(self, topic: str, key: str, data: Any) -> Any:
        """Return bytes with their schema; fail for a key that says so."""
        if key == "bad":
            raise ValueError("bad header")
        return SimpleNamespace(schema=OPTIONAL_BYTES_SCHEMA, value=data)


class Maps:
    """A converter that reads one entry, whose key is null where the bytes are empty."""

    def configure(self, configs: Any) -> None:
        """Need nothing."""

    def to_connect_data(self, topic: str, data: bytes, headers: Any = None) -> SchemaAndValue:
        """Return a map with one entry."""
        schema = SchemaBuilder.map(OPTIONAL_STRING_SCHEMA, OPTIONAL_STRING_SCHEMA).build()
        return SchemaAndValue(schema, {data.decode() or None: "v"})


def test_column_is_serialized_elsewhere(wire: Wire) -> None:
    """Schema, values and row numbers arrive; bytes and failures come back."""
    column, rows = pa.array(["a", "bad", None]), np.array([4, 6, 8])
    data, failures = conversion.ask_serialize(wire, "key.converter", "t", OPTIONAL_STRING_SCHEMA, column, rows, {})
    assert data.to_pylist() == [b"a", None, None]
    assert [(each.row, each.phase, each.class_name) for each in failures] == [(6, "KEY_CONVERTER", "sample.Text")]


def test_column_without_schema_is_serialized_elsewhere(wire: Wire) -> None:
    """A column without schema stays one on the way."""
    data, failures = conversion.ask_serialize(
        wire, "key.converter", "t", None, pa.array(['"a"', "1", None]), np.arange(3), {}
    )
    assert (data.to_pylist(), failures) == ([b"a", b"1", None], [])


def test_bytes_are_deserialized_elsewhere(wire: Wire) -> None:
    """Each run comes back with its schema."""
    data = pa.array([b"a", b"7", None], pa.binary())
    runs, failures = conversion.ask_deserialize(wire, "value.converter", "t", data, np.arange(3), {})
    assert [(str(run.schema), run.column.to_pylist()) for run in runs] == [
        ("Schema{STRING}", ["a"]),
        ("Schema{INT64}", [7]),
        ("Schema{STRING}", [None]),
    ]
    assert failures == []


def test_a_map_with_a_null_key_is_a_failure_of_its_record() -> None:
    """Its schema allows it and Arrow's maps do not, so the record is at fault, and no other."""
    plugins = Plugins("sink")
    plugins.load("value.converter", "sample.Maps", f"{__name__}:Maps", {})
    data = pa.array([b"a", b"", b"b"], pa.binary())
    runs, failures = conversion.ask_deserialize(
        Wire(Converters(plugins)), "value.converter", "t", data, np.arange(3), {}
    )
    cells = [cell for run in runs for cell in run.column.to_pylist()]
    assert cells == [[("a", "v")], None, [("b", "v")]]
    assert [(each.row, each.phase, each.error.kind) for each in failures] == [(1, "VALUE_CONVERTER", "data")]


def test_header_bytes_of_any_kind_go_there_and_back(wire: Wire) -> None:
    """Header values are bytes, not text; empty ones and missing ones stay apart."""
    cells = [b"\x00\xff", b"", None]
    headers = Headers([Header(str(index), OPTIONAL_BYTES_SCHEMA, cell) for index, cell in enumerate(cells)])
    columns = [pa.array(["a", "b"]), headers_to_column([headers, Headers()])]
    batch = Batch("t", None, None, pa.RecordBatch.from_arrays(columns, names=["value", "headers"]))
    rows, failures = conversion.ask_write_headers(wire, "t", number_rows(batch))
    assert (rows, failures) == ([[("0", b"\x00\xff"), ("1", b""), ("2", None)], []], [])
    column, failures = conversion.ask_read_headers(wire, "t", {1: rows[0]}, 2)
    assert column_to_headers(column) == [None, headers]
    assert failures == []


def test_headers_that_cannot_be_read_are_named(wire: Wire) -> None:
    """A row whose header fails has none, and is a failure of the header converter."""
    column, failures = conversion.ask_read_headers(wire, "t", {0: [("ok", b"1"), ("bad", b"2")]}, 1)
    assert column_to_headers(column) == [None]
    assert [(each.row, each.phase, each.class_name) for each in failures] == [(0, "HEADER_CONVERTER", "sample.Raw")]
