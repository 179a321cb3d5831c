"""Headers in a converter, name by name; rows keep theirs in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hearth_api import (
    INT8_SCHEMA,
    STRING_SCHEMA,
    Header,
    HeaderConverter,
    Headers,
    RetriableError,
    Schema,
    SchemaAndValue,
    SchemaBuilder,
    Timestamp,
)
from hearth_api.batch import (
    Batch,
    BatchHeaderConverter,
    ColumnRun,
    HeaderColumns,
    column_to_headers,
    header_columns,
    headers_to_column,
)
from hearth_execution.header_conversion import HeaderConversion
from hearth_execution.order import number_rows
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import RawHeaders, raw_column, raw_rows
from hearth_execution.retry import NO_RETRY, Retry

asked: list[Any] = []
"""The inputs of the converters below, in order."""


class Faltering(HeaderConverter):
    """Succeeds at the second attempt."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Start with no attempt."""
        self._attempts = 0

    def _falter(self) -> None:
        self._attempts += 1
        if self._attempts % 2:
            raise RetriableError("not yet")

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the text as bytes."""
        self._falter()
        return str(value).encode()

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return the bytes as text."""
        self._falter()
        return SchemaAndValue(STRING_SCHEMA, (data or b"").decode())


NUMBERS = SchemaBuilder.array(INT8_SCHEMA).build()


class Misfitting(Faltering):
    """Returns values that do not match their schemas, for the texts ``odd``, ``null`` and ``number``."""

    def _falter(self) -> None:
        pass

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return the bytes as text, or a bad value on request."""
        text = (data or b"").decode()
        odd = {"odd": (NUMBERS, ["a"]), "null": (STRING_SCHEMA, None), "number": (INT8_SCHEMA, "a")}
        return SchemaAndValue(*odd.get(text, (STRING_SCHEMA, text)))


class Columns(BatchHeaderConverter):
    """Writes texts and numbers, and reads texts, in column form; declines a column with ``odd``."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Need nothing."""

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the text of the value."""
        asked.append(value)
        return None if value is None else str(value).encode()

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return the bytes as text."""
        asked.append(data)
        return SchemaAndValue(STRING_SCHEMA, (data or b"").decode())

    def from_connect_headers(self, topic: str, header_key: str, schema: Schema | None, column: Any) -> Any:
        """Return the texts; fail for ``bad``, return too few for ``few``."""
        asked.append((header_key, str(column.type)))
        texts = column.cast("string")
        if "odd" in texts.to_pylist():
            return NotImplemented
        assert "bad" not in texts.to_pylist()
        return texts.cast("binary").filter(pc.fill_null(pc.not_equal(texts, "few"), True))

    def to_connect_headers(self, topic: str, header_key: str, data: Any) -> Any:
        """Return the texts."""
        asked.append(header_key)
        return NotImplemented if b"odd" in data.to_pylist() else ColumnRun(STRING_SCHEMA, data.cast("string"))


class Blind(Columns):
    """The same, but ignoring names."""

    is_blind_to_names = True


class Mixed(Blind):
    """Reads digits as numbers, ``none`` as null, and returns wrong columns for certain texts."""

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return a number, or the bytes as text."""
        text = (data or b"").decode()
        asked.append(text)
        return SchemaAndValue(INT8_SCHEMA, int(text)) if text.isdigit() else SchemaAndValue(STRING_SCHEMA, text)

    def to_connect_headers(self, topic: str, header_key: str, data: Any) -> Any:
        """Return values of several schemas."""
        texts = [(cell or b"").decode() for cell in data.to_pylist()]
        asked.append(texts)
        odd = {"null": (STRING_SCHEMA, None), "mismatch": (INT8_SCHEMA, 300), "none": (None, None)}
        pairs = [(INT8_SCHEMA, int(text)) if text.isdigit() else (STRING_SCHEMA, text) for text in texts]
        found = [odd.get(text, pair) for text, pair in zip(texts, pairs)]
        count = len(found) - texts.count("few")
        schemas, values = header_columns([schema for schema, _ in found], [value for _, value in found])
        return HeaderColumns(schemas.slice(0, count), values)


@pytest.fixture(autouse=True)
def _forget() -> None:
    asked.clear()


def conversion(name: str, retry: Retry = NO_RETRY) -> HeaderConversion:
    """Return the conversion of one of the converters above."""
    plugins = Plugins("source", retry)
    plugins.load("header.converter", f"sample.{name}", f"{__name__}:{name}", {})
    return HeaderConversion(plugins)


def batch_of(*headers: Headers) -> Batch:
    """Return a numbered batch whose rows have these headers."""
    columns = [pa.array(["v"] * len(headers)), headers_to_column(headers)]
    return number_rows(
        Batch("t", None, STRING_SCHEMA, pa.RecordBatch.from_arrays(columns, names=["value", "headers"]))
    )


def test_headers_of_one_name_and_schema_go_through_a_batch_form_at_once() -> None:
    """However rows mix them; values other than texts and whole numbers are converted once each."""
    moment = Timestamp.to_logical(Timestamp.SCHEMA, 7)
    headers = [
        Headers().add_string("a", "x").add_int("n", 5).add_boolean("f", True),
        Headers().add_int("n", -6).add_string("a", "y").add("a", STRING_SCHEMA, "z"),
        Headers().add_boolean("f", True).add("at", Timestamp.SCHEMA, moment).add("none", None, None),
    ]
    written, failures = conversion("Columns").write("t", batch_of(*headers))
    assert raw_rows(written) == [
        [("a", b"x"), ("n", b"5"), ("f", b"True")],
        [("n", b"-6"), ("a", b"y"), ("a", b"z")],
        [("f", b"True"), ("at", str(moment).encode()), ("none", None)],
    ]
    assert failures == []
    assert set(asked) == {("a", "string"), ("n", "int64"), True, moment, None}


@pytest.mark.parametrize("names", ["ab", "aa", "a", "ab" * 20])
def test_rows_with_equal_headers_convert_like_single_rows(names: str) -> None:
    """In the same order, with other values; also if one of the rows has other names or schemas."""
    rows = [
        Headers([Header(name, STRING_SCHEMA, f"{name}{row}.{place}") for place, name in enumerate(names)])
        for row in range(5)
    ]
    renamed = Headers([each.rename("z") for each in rows[4]])
    other = Headers([Header(each.key, INT8_SCHEMA, 7) for each in rows[4]])
    for last in (rows[4], renamed, other, Headers()):
        wanted = [(header.key, str(header.value).encode()) for own in (*rows[:4], last) for header in own]
        written, failures = conversion("Columns").write("t", batch_of(*rows[:4], last))
        assert [header for row in raw_rows(written) for header in row] == wanted
        assert [len(row) for row in raw_rows(written)] == [*[len(names)] * 4, len(last)]
        read, more = conversion("Columns").read("t", written)
        assert [header["value"].encode() for row in read.to_pylist() for header in row] == [data for _, data in wanted]
        assert failures == more == []


@pytest.mark.parametrize("value", ["odd", "bad", "few"])
def test_declining_batch_form_falls_back_to_single_headers(value: str) -> None:
    """Whether it declines, raises or returns a wrong column; only for headers of that name and schema."""
    headers = Headers().add_string("a", value).add_string("b", "x")
    written, failures = conversion("Columns").write("t", batch_of(headers, headers))
    assert (raw_rows(written), failures) == ([[("a", value.encode()), ("b", b"x")]] * 2, [])
    assert asked == [("a", "string"), value, ("b", "string")]


@pytest.mark.parametrize("rows", [(1, 1), (5, 1), (6, 2)])
def test_batch_form_that_ignores_names_gets_all_headers_at_once(rows: tuple[int, int]) -> None:
    """Those of a batch with one schema; for many headers it reads a few first."""
    count, asks = rows
    headers = [Headers().add_string("a", "x").add_string("b", "y"), Headers(), Headers().add_string("c", "z")] * count
    raw: list[RawHeaders] = [[("a", b"x"), ("b", b"y")], [], [("c", b"z")]] * count
    written, failures = conversion("Blind").write("t", batch_of(*headers))
    assert (raw_rows(written), failures, asked) == (raw, [], [("a", "string")])
    column, failures = conversion("Blind").read("t", raw_column(raw))
    assert [own or Headers() for own in column_to_headers(column)] == headers
    assert (failures, asked[1:]) == ([], ["a"] * asks)


@pytest.mark.parametrize("place", [0, 3, 35, 39])
def test_batch_form_that_declines_all_headers_gets_them_by_name(place: int) -> None:
    """As one that uses names is, wherever the header that it declines is."""
    texts = ["odd" if place == row else f"{row}" for row in range(40)]
    headers = [Headers().add_string("ab"[row % 2], text) for row, text in enumerate(texts)]
    raw: list[RawHeaders] = [[("ab"[row % 2], text.encode())] for row, text in enumerate(texts)]
    seen = {}
    for name in ("Blind", "Columns"):
        written, failures = conversion(name).write("t", batch_of(*headers))
        assert (raw_rows(written), failures) == (raw, [])
        column, failures = conversion(name).read("t", raw_column(raw))
        assert ([own or Headers() for own in column_to_headers(column)], failures) == (headers, [])
        seen[name] = [each for each in asked if each in ("odd", b"odd")]
        asked.clear()
    assert seen["Blind"] == seen["Columns"] == ["odd", b"odd"]


def test_headers_of_several_schemas_are_read_at_once() -> None:
    """After a few have shown that this works."""
    raw: list[RawHeaders] = [[("ab"[row % 2], str(row % 3).encode()), ("c", b"x"), ("d", b"none")] for row in range(9)]
    column, failures = conversion("Mixed").read("t", raw_column(raw))
    found = [[(each.key, each.schema, each.value) for each in own or ()] for own in column_to_headers(column)]
    end = [("c", STRING_SCHEMA, "x"), ("d", None, None)]
    assert found == [[("ab"[row % 2], INT8_SCHEMA, row % 3), *end] for row in range(9)]
    texts = [text for row in range(9) for text in (str(row % 3), "x", "none")]
    assert (failures, asked[1:]) == ([], [texts])


@pytest.mark.parametrize("text", ["few", "null", "mismatch"])
def test_invalid_values_of_several_schemas_fall_back_to_single_headers(text: str) -> None:
    """Too few schemas, a null that its schema forbids, a value that does not match its schema."""
    raw: list[RawHeaders] = [[("a", b"5"), ("b", text.encode())]]
    column, failures = conversion("Mixed").read("t", raw_column(raw))
    assert [[each.value for each in own or ()] for own in column_to_headers(column)] == [[5, text]]
    assert (failures, asked[-1]) == ([], text)


def test_headers_of_several_schemas_are_written_separately() -> None:
    """A column has one schema."""
    headers = Headers().add_string("a", "x").add_int("b", 1)
    written, failures = conversion("Blind").write("t", batch_of(headers, headers))
    assert (raw_rows(written), failures) == ([[("a", b"x"), ("b", b"1")]] * 2, [])
    assert asked == [("a", "string"), ("b", "int64")]


def test_headers_are_read_at_once_by_a_batch_form() -> None:
    """A null that the schema forbids is rejected; names and nulls keep their positions."""
    raw: list[RawHeaders] = [[("a", b"x"), ("b", b"odd")], [], [("b", b"z"), ("a", b"y")], [("c", None)]]
    column, failures = conversion("Columns").read("t", raw_column(raw))
    found = [[(each.key, each.schema, each.value) for each in own or ()] for own in column_to_headers(column)]
    text = STRING_SCHEMA
    assert found == [
        [("a", text, "x"), ("b", text, "odd")],
        [],
        [("b", text, "z"), ("a", text, "y")],
        [("c", text, "")],
    ]
    assert failures == []
    assert asked == ["a", "b", b"odd", b"z", "c", None]


def test_rows_without_headers_take_no_call() -> None:
    """A filter may have left only such rows."""
    written, failures = conversion("Columns").write("t", batch_of(Headers().add_string("a", "x"), Headers()).slice(1))
    assert (raw_rows(written), failures, asked) == ([[]], [], [])
    column, failures = conversion("Columns").read("t", written)
    assert (column.type, column_to_headers(column), failures) == (headers_to_column([]).type, [None], [])


def test_retriable_header_is_retried_if_retries_are_configured() -> None:
    """Each header separately, in both directions; without retries its row fails."""
    headers = Headers([Header("one", STRING_SCHEMA, "1"), Header("two", STRING_SCHEMA, "2")])
    columns = [pa.array(["v"]), headers_to_column([headers])]
    data = pa.RecordBatch.from_arrays(columns, names=["value", "headers"])
    batch = number_rows(Batch("t", None, STRING_SCHEMA, data))
    raw: RawHeaders = [("one", b"1"), ("two", b"2")]
    patient = Retry(60_000, 1)
    lasting = conversion("Faltering", patient)
    written, failures = lasting.write("t", batch)
    assert (raw_rows(written), failures) == ([raw], [])
    column, failures = lasting.read("t", raw_column([[], raw]))
    assert (column_to_headers(column), failures) == ([None, headers], [])
    written, (failure,) = conversion("Faltering").write("t", batch)
    assert (raw_rows(written), failure.row, failure.phase) == ([[]], 0, "HEADER_CONVERTER")


def test_header_that_does_not_match_its_schema_fails_its_row_only() -> None:
    """No column can hold it; other records keep their headers."""
    raw = raw_column([[("a", b"x")], [("a", b"y"), ("b", b"odd")], [], [("a", b"z")]])
    column, (failure,) = conversion("Misfitting").read("t", raw)
    assert [[each.value for each in own or ()] for own in column_to_headers(column)] == [["x"], [], [], ["z"]]
    assert (failure.row, failure.phase, failure.error.kind) == (1, "HEADER_CONVERTER", "data")


def test_headers_that_are_read_are_added_as_kafka_connect_adds_them() -> None:
    """It checks that value and schema match, and its message is kept."""
    raw = raw_column([[("a", b"null")], [("a", b"number")]])
    _, failures = conversion("Misfitting").read("t", raw)
    assert [each.error.message for each in failures] == [
        "A null value requires an optional schema but was Schema{STRING}",
        "The value a is not compatible with the schema Schema{INT8}",
    ]


def test_equal_headers_of_a_batch_are_written_once() -> None:
    """They also fail together, each with its row."""
    same, other = (Headers([Header("h", STRING_SCHEMA, text)]) for text in ("1", "2"))
    columns = [pa.array(["v"] * 5), headers_to_column([same, other, same, Headers(), same])]
    data = pa.RecordBatch.from_arrays(columns, names=["value", "headers"])
    batch = number_rows(Batch("t", None, STRING_SCHEMA, data)).slice(1)
    written, failures = conversion("Faltering").write("t", batch)
    assert raw_rows(written) == [[], [("h", b"1")], [], [("h", b"1")]]
    assert [failure.row for failure in failures] == [1]
    written, failures = conversion("Faltering").write("t", batch.slice(1))
    assert (raw_rows(written), [failure.row for failure in failures]) == ([[], [], []], [2, 4])
