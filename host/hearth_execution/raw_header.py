"""Headers as Kafka has them, names with bytes, and what a converter sees of them."""

from __future__ import annotations

from hearth_api import OPTIONAL_BYTES_SCHEMA, DataError, Header, Headers

RawHeaders = list[tuple[str, "bytes | None"]]


def to_headers(raw: RawHeaders) -> Headers:
    """Return the headers a converter may look at and change."""
    return Headers([Header(key, OPTIONAL_BYTES_SCHEMA, data) for key, data in raw])


def from_headers(headers: Headers) -> RawHeaders:
    """Return what a converter left behind; a text among it is written as UTF-8, anything else raises a DataError."""
    return [(header.key, _data(header)) for header in headers]


def _data(header: Header) -> bytes | None:
    value = header.value
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise DataError(f"the converter left a header {header.key!r} of {type(value).__name__}, Kafka's headers are bytes")
