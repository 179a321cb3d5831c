"""Encodes the primitives of Avro's binary encoding."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

Write = Callable[[bytearray, Any], None]
_DOUBLE, _FLOAT = struct.Struct("<d").pack, struct.Struct("<f").pack


def put_long(out: bytearray, value: int) -> None:
    """Append a number of up to 64 bits as a zig-zag varint."""
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def put_bytes(out: bytearray, value: bytes) -> None:
    """Append length-prefixed bytes."""
    put_long(out, len(value))
    out += value


def put_text(out: bytearray, text: str) -> None:
    """Append a string; an unpaired surrogate becomes a question mark, as in Java."""
    try:
        put_bytes(out, text.encode())
    except UnicodeEncodeError:
        put_bytes(out, text.encode("utf-8", "replace"))


def put_double(out: bytearray, value: float) -> None:
    """Append a 64-bit float."""
    out += _DOUBLE(value)


def put_float(out: bytearray, value: float) -> None:
    """Append a 32-bit float; a number that is too large becomes infinite."""
    try:
        out += _FLOAT(value)
    except OverflowError:
        out += _FLOAT(float("inf") if value > 0 else float("-inf"))


def put_boolean(out: bytearray, value: bool) -> None:
    """Append a boolean."""
    out.append(value)


def number_bytes(number: int) -> bytes:
    """Return the encoded bytes of a number."""
    out = bytearray()
    put_long(out, number)
    return bytes(out)
