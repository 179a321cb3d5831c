"""Avro's binary form, appended to bytes: what values of all types are made of."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

Write = Callable[[bytearray, Any], None]
_DOUBLE, _FLOAT = struct.Struct("<d").pack, struct.Struct("<f").pack


def put_long(out: bytearray, value: int) -> None:
    """Append a number of up to 64 bits as Avro writes it: zig-zag, seven bits a byte, the lowest first."""
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def put_bytes(out: bytearray, value: bytes) -> None:
    """Append bytes with their length before them."""
    put_long(out, len(value))
    out += value


def put_text(out: bytearray, text: str) -> None:
    """Append a text; half a character becomes a question mark, as in Java."""
    try:
        put_bytes(out, text.encode())
    except UnicodeEncodeError:
        put_bytes(out, text.encode("utf-8", "replace"))


def put_double(out: bytearray, value: float) -> None:
    """Append a number of 64 bits with a fraction."""
    out += _DOUBLE(value)


def put_float(out: bytearray, value: float) -> None:
    """Append a number of 32 bits with a fraction; one that is too large becomes infinite."""
    try:
        out += _FLOAT(value)
    except OverflowError:
        out += _FLOAT(float("inf") if value > 0 else float("-inf"))


def put_boolean(out: bytearray, value: bool) -> None:
    """Append a boolean."""
    out.append(value)


def number_bytes(number: int) -> bytes:
    """Return the bytes of a number."""
    out = bytearray()
    put_long(out, number)
    return bytes(out)
