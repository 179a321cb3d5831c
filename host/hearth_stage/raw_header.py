"""Headers as Kafka has them, names with bytes, and what a converter sees of them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from hearth_api import OPTIONAL_BYTES_SCHEMA, DataError, Header, Headers

RawHeaders = list[tuple[str, "bytes | None"]]


def to_headers(raw: RawHeaders) -> Headers:
    """Return the headers a converter may look at and change."""
    return Headers([Header(key, OPTIONAL_BYTES_SCHEMA, data) for key, data in raw])


def from_headers(headers: Headers) -> RawHeaders:
    """Return what a converter left behind; a text among it is written as UTF-8, anything else raises a DataError."""
    return [(header.key, _data(header)) for header in headers]


def rows_to_text(rows: Mapping[int, RawHeaders]) -> dict[str, Any]:
    """Return the headers of some rows as JSON can hold them."""
    return {str(row): headers_to_text(own) for row, own in rows.items()}


def rows_from_text(rows: Mapping[str, Any]) -> dict[int, RawHeaders]:
    """Read what ``rows_to_text`` gave."""
    return {int(row): headers_from_text(own) for row, own in rows.items()}


def headers_to_text(headers: RawHeaders) -> list[list[str | None]]:
    """Return the headers of one row as JSON can hold them."""
    return [[key, None if data is None else base64.b64encode(data).decode()] for key, data in headers]


def headers_from_text(headers: list[list[Any]]) -> RawHeaders:
    """Read what ``headers_to_text`` gave."""
    return [(key, None if data is None else base64.b64decode(data)) for key, data in headers]


def _data(header: Header) -> bytes | None:
    value = header.value
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise DataError(f"the converter left a header {header.key!r} of {type(value).__name__}, Kafka's headers are bytes")
