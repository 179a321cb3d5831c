"""Guesses the format of a record's key or value by its bytes, for whoever has set another converter."""

from __future__ import annotations

TEXT, JSON, ENVELOPED, REGISTERED, BINARY = "text", "JSON", "JSON with a schema", "schema id", "binary"
_LOOKED_AT = 65_536
_MAGIC = 5
"""Bytes in front of what a schema registry's serializers write: a zero, and the id of the schema."""


def body_format(body: bytes) -> str:
    """Return the likely format; that of a schema registry comes with the id, as in `schema id 7`."""
    if body[:1] == b"\0" and len(body) >= _MAGIC:
        return f"{REGISTERED} {int.from_bytes(body[1:_MAGIC], 'big')}"
    shown = body.strip()
    if shown[:1] + shown[-1:] in (b"{}", b"[]"):
        start = shown[:_LOOKED_AT]
        return ENVELOPED if b'"schema"' in start and b'"payload"' in shown else JSON
    try:
        text = body[:_LOOKED_AT].decode()
    except UnicodeDecodeError as error:
        if len(body) <= _LOOKED_AT or error.start < _LOOKED_AT - _MAGIC:
            return BINARY
        return TEXT  # only the last character was cut
    return TEXT if all(each.isprintable() or each in "\t\r\n" for each in text) else BINARY
