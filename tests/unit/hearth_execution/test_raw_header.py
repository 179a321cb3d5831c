"""What a converter sees of Kafka's headers, and what it may leave behind."""

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


def test_headers_that_nobody_changes_stay_as_they_are() -> None:
    """Names may stand twice, bytes need not be text, and null is not empty."""
    raw: RawHeaders = [("b", b"\xff"), ("a", None), ("b", b"")]
    headers = to_headers(raw)
    assert {header.schema for header in headers} == {OPTIONAL_BYTES_SCHEMA}
    assert from_headers(headers) == raw


@pytest.mark.parametrize(
    ("value", "data"), [("größe", "größe".encode()), (bytearray(b"a"), b"a"), (memoryview(b"a"), b"a"), ("", b"")]
)
def test_text_and_anything_that_is_bytes_may_be_left_behind(value: object, data: bytes) -> None:
    """Text is written as UTF-8."""
    headers = Headers()
    headers.add("k", None, value)
    assert from_headers(headers) == [("k", data)]


def test_what_kafka_cannot_hold_is_named() -> None:
    """Whoever wrote the converter finds the header, and its record is at fault."""
    headers = Headers()
    headers.add("fine", STRING_SCHEMA, "text")
    headers.add("length", None, 6)
    with pytest.raises(DataError, match="a header 'length' of int"):
        from_headers(headers)


ROWS: list[RawHeaders] = [[("b", b"1"), ("a", None)], [], [("b", b"")]]


def test_a_column_holds_the_headers_of_all_rows() -> None:
    """Null is not empty, also in a part of the column."""
    column = raw_column(ROWS)
    assert raw_rows(column) == ROWS
    assert raw_rows(column.slice(1)) == ROWS[1:]
    assert raw_rows(column.filter(pa.array([True, False, True]))) == [ROWS[0], ROWS[2]]


def test_rows_are_asked_for_and_changed_by_their_number() -> None:
    """A row that was changed is read as it is now; without a column there are no headers at all."""
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
def test_what_is_no_column_of_headers_is_refused(column: pa.Array) -> None:
    """Its memory would go to librdkafka as it is."""
    with pytest.raises(ValueError, match="headers are a column of"):
        check_raw(column)
    check_raw(raw_column(ROWS))
