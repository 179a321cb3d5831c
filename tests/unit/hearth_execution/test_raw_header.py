"""What a converter sees of Kafka's headers, and what it may leave behind."""

from __future__ import annotations

import pytest

from hearth_api import OPTIONAL_BYTES_SCHEMA, STRING_SCHEMA, DataError, Headers
from hearth_execution.raw_header import RawHeaders, from_headers, to_headers


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
