"""Calls of plugins: columns and headers are sent to a converter and return unchanged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pytest

from hearth_api import (
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    DataError,
    Header,
    Headers,
    Schema,
    SchemaAndValue,
    SchemaBuilder,
)
from hearth_api.batch import Batch, BatchHeaderConverter, ColumnRun, column_to_headers, headers_to_column
from hearth_execution.order import number_rows
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import RawHeaders, raw_column, raw_rows
from hearth_stage.call import PluginCall, decoded, encoded
from hearth_stage.conversion_call import Cells, Deserialize, DeserializeHeaders, Serialize, SerializeHeaders
from tests.unit.run_order import values_in_order

SAMPLES = Path(__file__).parents[2] / "samples"
R = TypeVar("R")


class Wire:
    """Executes calls as a stage does: members as JSON, batches as Arrow."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def do(self, call: PluginCall[R]) -> R:
        """Execute a call."""
        reply = _copied(type(call), call).run(self._plugins)
        answer: R = _copied(call.reply, reply)
        return call.verify(answer)


def _copied(kind: type[Any], value: Any) -> Any:
    members, batches = encoded(value)
    return decoded(kind, json.loads(json.dumps(members)), [Batch.from_arrow(each.to_arrow()) for each in batches])


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """Provide converters behind calls."""
    monkeypatch.syspath_prepend(str(SAMPLES))
    plugins = Plugins("source")
    for role, name in {"key.converter": "Text", "value.converter": "TextBatch", "header.converter": "Raw"}.items():
        module = __name__ if name == "Raw" else "sample_plugins"
        plugins.load(role, f"sample.{name}", f"{module}:{name}", {})
    return Wire(plugins)


class Raw:
    """A header converter that leaves bytes unchanged."""

    def configure(self, configs: Any) -> None:
        """Need nothing."""

    def from_connect_header(self, topic: str, key: str, schema: Any, value: Any) -> Any:
        """Return the value."""
        return value

    def to_connect_header(self, topic: str, key: str, data: Any) -> Any:
        """Return bytes with their schema; fail for a certain key."""
        if key == "bad":
            raise ValueError("bad header")
        return SimpleNamespace(schema=OPTIONAL_BYTES_SCHEMA, value=data)


class Failing(BatchHeaderConverter):
    """A header converter that reads nothing."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Write nothing."""

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Fail."""
        raise DataError("unreadable")

    def from_connect_headers(self, topic: str, header_key: str, schema: Schema | None, column: Any) -> Any:
        """Decline, in favor of the single-header form."""
        return NotImplemented

    def to_connect_headers(self, topic: str, header_key: str, data: Any) -> Any:
        """Decline, in favor of the single-header form."""
        return NotImplemented


class Maps:
    """A converter that reads a map of one entry, whose key is null for empty bytes."""

    def configure(self, configs: Any) -> None:
        """Need nothing."""

    def to_connect_data(self, topic: str, data: bytes, headers: Any = None) -> SchemaAndValue:
        """Return a map with one entry."""
        schema = SchemaBuilder.map(OPTIONAL_STRING_SCHEMA, OPTIONAL_STRING_SCHEMA).build()
        return SchemaAndValue(schema, {data.decode() or None: "v"})


def read_of(**columns: Any) -> Cells:
    """Return columns of bytes by side."""
    count = len(next(iter(columns.values())))
    sides = {side: ColumnRun(OPTIONAL_BYTES_SCHEMA, column) for side, column in columns.items()}
    return Cells(sides, np.arange(count))


def test_column_is_serialized_elsewhere(wire: Wire) -> None:
    """Schema, values and row numbers arrive; bytes and failures return."""
    column, rows = pa.array(["a", "bad", None]), np.array([4, 6, 8])
    cells = Cells({"key": ColumnRun(OPTIONAL_STRING_SCHEMA, column)}, rows)
    done = wire.do(Serialize(["key.converter"], "t", cells))
    assert done.columns["key"].to_pylist() == [b"a", None, None]
    assert [(each.row, each.phase, each.class_name) for each in done.failures] == [(6, "KEY_CONVERTER", "sample.Text")]


def test_column_without_schema_is_serialized_elsewhere(wire: Wire) -> None:
    """A column without schema stays one."""
    cells = Cells({"key": ColumnRun(None, pa.array(['"a"', "1", None]))}, np.arange(3))
    done = wire.do(Serialize(["key.converter"], "t", cells))
    assert (done.columns["key"].to_pylist(), done.failures) == ([b"a", b"1", None], [])


def test_bytes_are_deserialized_elsewhere(wire: Wire) -> None:
    """Each run returns with its schema."""
    data = pa.array([b"a", b"7", None], pa.binary())
    done = wire.do(Deserialize(["value.converter"], "t", read_of(value=data)))
    assert [(str(run.schema), run.column.to_pylist()) for run in done.runs] == [
        ("Schema{STRING}", ["a", None]),
        ("Schema{INT64}", [7]),
    ]
    assert [[*map(int, run.rows)] for run in done.runs] == [[0, 2], [1]]
    assert done.failures == []


def test_keys_and_values_are_converted_in_one_call(wire: Wire) -> None:
    """One call converts both; each side has its own schemas and failures, those of keys first."""
    texts = ColumnRun(OPTIONAL_STRING_SCHEMA, pa.array(["k", "bad"]))
    cells = Cells({"key": texts, "value": ColumnRun(None, pa.array(["1", '"v"']))}, np.arange(2))
    written = wire.do(Serialize(["key.converter", "value.converter"], "t", cells))
    assert {side: column.to_pylist() for side, column in written.columns.items()} == {
        "key": [b"k", None],
        "value": [b"1", b'"v"'],
    }
    assert [(each.row, each.phase) for each in written.failures] == [(1, "KEY_CONVERTER")]
    keys, values = pa.array([b"k", b"bad", None]), pa.array([b"a", b"7", b"bad"])
    asked = Deserialize(["key.converter", "value.converter"], "t", read_of(key=keys, value=values))
    done = wire.do(asked)
    own = [[(str(run.schema), run.column.to_pylist()) for run in runs] for runs in done.by_converter()]
    assert own == [
        [("Schema{STRING}", ["k", None]), ("None", [None])],
        [("Schema{STRING}", ["a"]), ("Schema{INT64}", [7]), ("None", [None])],
    ]
    assert [(each.row, each.phase) for each in done.failures] == [(1, "KEY_CONVERTER"), (2, "VALUE_CONVERTER")]


def test_a_map_with_a_null_key_is_a_failure_of_its_record() -> None:
    """Its schema allows it but Arrow's maps do not, so this record fails, and no other."""
    plugins = Plugins("sink")
    plugins.load("value.converter", "sample.Maps", f"{__name__}:Maps", {})
    data = pa.array([b"a", b"", b"b"], pa.binary())
    asked = Deserialize(["value.converter"], "t", read_of(value=data))
    done = Wire(plugins).do(asked)
    assert [value for _, value in values_in_order(done.runs)] == [{"a": "v"}, None, {"b": "v"}]
    assert [(each.row, each.phase, each.error.kind) for each in done.failures] == [(1, "VALUE_CONVERTER", "data")]


def test_header_bytes_of_any_kind_go_there_and_back(wire: Wire) -> None:
    """Header values are bytes, not text; empty and missing ones differ."""
    cells = [b"\x00\xff", b"", None]
    headers = Headers([Header(str(index), OPTIONAL_BYTES_SCHEMA, cell) for index, cell in enumerate(cells)])
    columns = [pa.array(["a", "b"]), headers_to_column([headers, Headers()])]
    batch = Batch("t", None, None, pa.RecordBatch.from_arrays(columns, names=["value", "headers"]))
    written = wire.do(SerializeHeaders("t", number_rows(batch)))
    raw: RawHeaders = [("0", b"\x00\xff"), ("1", b""), ("2", None)]
    assert (raw_rows(written.column), written.failures) == ([raw, []], [])
    read = wire.do(DeserializeHeaders("t", raw_column([[], raw])))
    assert column_to_headers(read.column) == [None, headers]
    assert read.failures == []


@pytest.mark.parametrize("reads_any_bytes", [True, False])
def test_ignored_headers_are_read_if_reading_may_fail(reads_any_bytes: bool) -> None:
    """A failure fails its row, whether headers are used or not."""
    plugins = Plugins("sink")
    plugins.load("header.converter", "sample.Failing", f"{__name__}:Failing", {})
    plugins["header.converter"].reads_any_bytes = reads_any_bytes
    column = raw_column([[("a", b"1")], [], [("b", b"2")]])
    done = Wire(plugins).do(DeserializeHeaders("t", column, are_ignored=True))
    assert column_to_headers(done.column) == [None, None, None]
    assert [each.row for each in done.failures] == ([] if reads_any_bytes else [0, 2])


def test_headers_that_cannot_be_read_are_named(wire: Wire) -> None:
    """A row with a failing header has none, and is a failure of the header converter."""
    read = wire.do(DeserializeHeaders("t", raw_column([[("ok", b"1"), ("bad", b"2")]])))
    assert column_to_headers(read.column) == [None]
    assert [(each.row, each.phase, each.class_name) for each in read.failures] == [
        (0, "HEADER_CONVERTER", "sample.Raw")
    ]
