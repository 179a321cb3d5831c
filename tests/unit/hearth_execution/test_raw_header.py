"""How a converter sees Kafka's headers, and what it may change."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hearth_api import OPTIONAL_BYTES_SCHEMA, STRING_SCHEMA, DataError, Headers
from hearth_execution.raw_header import (
    HeaderRows,
    RawHeaders,
    check_raw,
    from_headers,
    raw_column,
    raw_rows,
    to_headers,
    with_changes,
)


def test_unchanged_headers_stay_equal() -> None:
    """Names may repeat, bytes need not be text, and null differs from empty."""
    raw: RawHeaders = [("b", b"\xff"), ("a", None), ("b", b"")]
    headers = to_headers(raw)
    assert {header.schema for header in headers} == {OPTIONAL_BYTES_SCHEMA}
    assert from_headers(headers) == raw


@pytest.mark.parametrize(
    ("value", "data"), [("größe", "größe".encode()), (bytearray(b"a"), b"a"), (memoryview(b"a"), b"a"), ("", b"")]
)
def test_converter_may_set_text_and_bytes(value: object, data: bytes) -> None:
    """Text is written as UTF-8."""
    headers = Headers()
    headers.add("k", None, value)
    assert from_headers(headers) == [("k", data)]


def test_header_of_an_unsupported_type_is_named() -> None:
    """The error names the header, and its record fails."""
    headers = Headers()
    headers.add("fine", STRING_SCHEMA, "text")
    headers.add("length", None, 6)
    with pytest.raises(DataError, match="set header 'length' to int"):
        from_headers(headers)


ROWS: list[RawHeaders] = [[("b", b"1"), ("a", None)], [], [("b", b"")]]


def test_a_column_holds_the_headers_of_all_rows() -> None:
    """Null differs from empty, also in a slice of the column."""
    column = raw_column(ROWS)
    assert raw_rows(column) == ROWS
    assert raw_rows(column.slice(1)) == ROWS[1:]
    assert raw_rows(column.filter(pa.array([True, False, True]))) == [ROWS[0], ROWS[2]]


def test_header_rows_are_read_and_changed_by_position() -> None:
    """A changed row is returned as changed; without a column there are no headers."""
    rows = HeaderRows(raw_column(ROWS))
    rows[1] = [("new", b"x")]
    assert [rows[number] for number in range(3)] == [ROWS[0], [("new", b"x")], ROWS[2]]
    assert HeaderRows()[7] == []
    changed = with_changes(raw_column(ROWS), rows.changed, 3)
    assert raw_rows(changed) == [ROWS[0], [("new", b"x")], ROWS[2]]
    assert raw_rows(with_changes(None, rows.changed, 3)) == [[], [("new", b"x")], []]
    assert with_changes(None, {}, 3) is None


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1]]),
        pa.array([[{"key": "a", "value": "text"}]]),
        pa.array([[{"key": None, "value": b""}]], raw_column([]).type),
    ],
)
def test_invalid_headers_column_is_rejected(column: pa.Array) -> None:
    """Its memory would be passed to librdkafka unchanged."""
    with pytest.raises(ValueError, match="the headers column has type"):
        check_raw(column)
    check_raw(raw_column(ROWS))
