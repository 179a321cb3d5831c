"""Converters on columns; ``tests/contract/test_place.py`` covers what is the same in a stage process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth_api import (
    OPTIONAL_STRING_SCHEMA,
    Converter,
    Headers,
    Schema,
    SchemaAndValue,
    SchemaBuilder,
)
from hearth_api.batch import BatchConverter, ColumnRun
from hearth_execution.converter import Converters
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import HeaderRows, raw_column
from hearth_execution.retry import NO_RETRY, Retry
from tests.unit.run_order import values_in_order

asked: list[Any] = []
"""The inputs of the converters below, in order."""


class Text(Converter):
    """Writes text, and reads it with a new, equal schema object for each value."""

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        """Need nothing."""

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the text as bytes; fail for a bad one."""
        asked.append((topic, schema, value))
        if value == "bad":
            raise ValueError("bad")
        return None if value is None else str(value).encode()

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return the text, fail for a bad one; text in capitals has a schema with another name."""
        if data == b"bad":
            raise ValueError("bad")
        text = None if data is None else data.decode()
        builder = SchemaBuilder.string().optional()
        return SchemaAndValue((builder.name("Loud") if (text or "").isupper() else builder).build(), text)


class Columns(BatchConverter, Text):
    """Does the same in column form, with a wider type than requested."""

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the texts as bytes; fail where one is bad."""
        texts = column.to_pylist()
        asked.append(texts)
        if "bad" in texts:
            raise ValueError("bad")
        return pa.array([None if each is None else each.encode() for each in texts], pa.large_binary())

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun]:
        """Return one run; fail where a value is bad."""
        cells = data.to_pylist()
        asked.append(cells)
        if b"bad" in cells:
            raise ValueError("bad")
        return [ColumnRun(OPTIONAL_STRING_SCHEMA, data.cast(pa.string()))]


class Unsure(Columns):
    """Leaves columns with an odd value to the value form, which reads and writes headers."""

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the text as bytes, and add it to the headers."""
        assert headers is not None
        headers.add_bytes("seen", str(value).encode())
        return super().from_connect_data(topic, schema, value, headers)

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return the text followed by the headers; fail for a bad one."""
        if data == b"bad":
            raise ValueError("bad")
        found = " ".join(f"{each.key}={each.value}" for each in headers or ())
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, f"{(data or b'').decode()} {found}")

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Convert the column, unless it has an odd value."""
        done = super().from_connect_batch(topic, schema, column)
        return NotImplemented if "odd" in column.to_pylist() else done

    def to_connect_batch(self, topic: str, data: Any) -> Any:
        """Convert the column, unless it has an odd value."""
        done = super().to_connect_batch(topic, data)
        return NotImplemented if b"odd" in data.to_pylist() else done


@pytest.fixture(autouse=True)
def _forget() -> None:
    asked.clear()


def converters(name: str, role: str = "value.converter", retry: Retry = NO_RETRY) -> Converters:
    """Return one of the converters above, in a role."""
    plugins = Plugins("source", retry)
    plugins.load(role, f"sample.{name}", f"{__name__}:{name}", {})
    return Converters(plugins)


def serialize(name: str, values: list[str | None], schema: Schema | None = OPTIONAL_STRING_SCHEMA) -> Any:
    """Serialize a column whose rows are numbered from ten."""
    rows = np.arange(10, 10 + len(values))
    return converters(name).serialize(
        "value.converter", "t", schema, pa.array(values, pa.string()), rows, HeaderRows()
    )


def deserialize(name: str, cells: list[bytes | None]) -> Any:
    """Deserialize bytes whose rows are numbered from ten."""
    rows = np.arange(10, 10 + len(cells))
    return converters(name).deserialize("value.converter", "t", pa.array(cells, pa.binary()), rows, HeaderRows())


def test_record_form_is_called_per_value_and_batch_form_once() -> None:
    """With a batch form, values of a batch without failures cost no call each."""
    serialize("Text", ["a", None])
    assert asked == [("t", OPTIONAL_STRING_SCHEMA, "a"), ("t", OPTIONAL_STRING_SCHEMA, None)]
    asked.clear()
    serialize("Columns", ["a", None])
    deserialize("Columns", [b"a", None])
    assert asked == [["a", None], [b"a", None]]


def test_bytes_of_a_batch_form_have_the_type_that_is_sent() -> None:
    """Receivers read Arrow's ``binary`` by its offsets."""
    data, failures = serialize("Columns", ["a", None, ""])
    assert (data.type, data.to_pylist(), failures) == (pa.binary(), [b"a", None, b""], [])


@pytest.mark.parametrize("name", ["Text", "Columns"])
def test_empty_column_becomes_an_empty_column(name: str) -> None:
    """If a filter drops everything, there is nothing to convert, and no failure."""
    data, failures = serialize(name, [])
    assert (data.type, len(data), failures) == (pa.binary(), 0, [])
    runs, failures = deserialize(name, [])
    assert (sum(len(run.column) for run in runs), failures) == (0, [])


def test_failing_column_is_converted_by_values_once() -> None:
    """The other values are converted in order, and the failure has its row."""
    data, failures = serialize("Columns", ["a", "b", "bad", "c"])
    assert data.to_pylist() == [b"a", b"b", None, b"c"]
    assert [(each.row, each.phase, each.class_name) for each in failures] == [
        (12, "VALUE_CONVERTER", "sample.Columns")
    ]
    assert asked == [["a", "b", "bad", "c"], *(("t", OPTIONAL_STRING_SCHEMA, each) for each in ("a", "b", "bad", "c"))]


def test_declined_column_passes_the_headers_of_its_rows() -> None:
    """Also if the batch form raises: the headers given and changed are those of the right row."""
    column, rows = pa.array(["a", "bad", "odd", "b"]), np.arange(10, 14)
    headers = HeaderRows(raw_column([[], [], [("old", b"1")], []]))
    unsure = converters("Unsure")
    data, failures = unsure.serialize("value.converter", "t", OPTIONAL_STRING_SCHEMA, column, rows, headers)
    assert (data.to_pylist(), [each.row for each in failures]) == ([b"a", None, b"odd", b"b"], [11])
    assert headers.changed == {
        0: [("seen", b"a")],
        2: [("old", b"1"), ("seen", b"odd")],
        3: [("seen", b"b")],
    }
    cells = pa.array([b"a", b"bad", b"odd", b"b"], pa.binary())
    heading = HeaderRows(raw_column([[], [], [], [("k", b"v")]]))
    runs, failures = unsure.deserialize("value.converter", "t", cells, rows, heading)
    assert [value for _, value in values_in_order(runs)] == ["a ", None, "odd ", "b k=b'v'"]
    assert [each.row for each in failures] == [11]


def test_header_that_affects_the_converter_disables_its_batch_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch without it is still read as columns."""
    monkeypatch.setattr(Columns, "header_names", frozenset({"schema"}))
    cells, rows = pa.array([b"a", b"b"], pa.binary()), np.arange(2)
    read = converters("Columns").deserialize
    read("value.converter", "t", cells, rows, HeaderRows(raw_column([[("other", b"")], []])))
    assert asked == [[b"a", b"b"]]
    runs, _ = read("value.converter", "t", cells, rows, HeaderRows(raw_column([[], [("schema", None)]])))
    assert (asked, [run.column.to_pylist() for run in runs]) == ([[b"a", b"b"]], [["a", "b"]])


def test_bad_bytes_are_a_null_of_their_row() -> None:
    """Keys and values still match by position, so that the pipeline can remove the row from both."""
    runs, failures = deserialize("Columns", [b"a", b"bad", b"b"])
    assert [value for _, value in values_in_order(runs)] == ["a", None, "b"]
    assert [each.row for each in failures] == [11]


def test_too_deep_message_fails_its_row() -> None:
    """What Arrow has no type for is text in a column; no content of a message fails the task."""
    plugins = Plugins("sink")
    plugins.load("value.converter", "json", "hearth_json.converter:JsonConverter", {})

    def message(depth: int) -> bytes:
        schema = '{"type":"array","items":' * depth + '{"type":"int32"}' + "}" * depth
        return f'{{"schema":{schema},"payload":{"[" * depth}1{"]" * depth}}}'.encode()

    cells = [message(depth) for depth in (1, 63, 64, 300, 800, 5000, 1)]
    found = Converters(plugins).deserialize(
        "value.converter", "t", pa.array(cells, pa.binary()), np.arange(len(cells)), HeaderRows()
    )
    runs, failures = found
    assert sum(len(run.column) for run in runs) == len(cells)
    assert [(each.row, each.error.kind) for each in failures] == [(5, "data")]


def test_values_of_equal_schemas_are_one_run() -> None:
    """A converter may create a schema per value; a run for each would be a batch per record."""
    runs, failures = deserialize("Text", [b"a", None, b"B", b"C", b"d"])
    assert [(run.schema.name, run.column.to_pylist(), [*run.rows]) for run in runs] == [
        (None, ["a", None, "d"], [0, 1, 4]),
        ("Loud", ["B", "C"], [2, 3]),
    ]
    assert failures == []


@pytest.mark.parametrize("name", ["Text", "Columns"])
def test_values_before_an_untolerated_failure_are_read(name: str) -> None:
    """They are put before the task fails; later ones fail with it."""
    plugins = converters(name, retry=replace(NO_RETRY, is_strict=True))
    cells = pa.array([b"a", b"b", b"bad", b"c"], pa.binary())
    runs, failures = plugins.deserialize("value.converter", "t", cells, np.arange(4), HeaderRows())
    assert [value for _, value in values_in_order(runs)] == ["a", "b", None, None]
    assert [each.row for each in failures] == [2, 3]


def test_column_of_another_type_than_bytes_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values are converted one by one, and the task continues."""
    monkeypatch.setattr(Columns, "from_connect_batch", lambda *_: pa.array([1.5, 2.5]))
    data, failures = serialize("Columns", ["a", "b"])
    assert (data.to_pylist(), failures) == ([b"a", b"b"], [])
