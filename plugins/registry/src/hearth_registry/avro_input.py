"""Decodes the primitives of Avro's binary encoding at a cursor.

Lengths are checked against the available bytes before memory is allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from hearth_registry.avro_type import AvroType
from hearth_registry.schema_format import PayloadError

MOST_EMPTY = 100_000
"""Maximum zero-byte items in an array; other items are limited by the bytes they need."""
_DOUBLE, _FLOAT = struct.Struct("<d").unpack_from, struct.Struct("<f").unpack_from
_WIDTH = {"float": 4, "double": 8, "null": 0}


class Cursor:
    """A read position in bytes."""

    __slots__ = ("data", "pos")

    def __init__(self, data: bytes) -> None:
        """Start at the first byte."""
        self.data = data
        self.pos = 0


Read = Callable[[Cursor], Any]


def long_at(cursor: Cursor) -> int:
    """Read a 64-bit number."""
    data, pos = cursor.data, cursor.pos
    byte = data[pos]
    if byte < 0x80:
        cursor.pos = pos + 1
        return (byte >> 1) ^ -(byte & 1)
    return _number_at(cursor, 64, 10, "Invalid long encoding")


def int_at(cursor: Cursor) -> int:
    """Read a 32-bit number."""
    data, pos = cursor.data, cursor.pos
    byte = data[pos]
    if byte < 0x80:
        cursor.pos = pos + 1
        return (byte >> 1) ^ -(byte & 1)
    return _number_at(cursor, 32, 5, "Invalid int encoding")


def _number_at(cursor: Cursor, bits: int, most: int, complaint: str) -> int:
    """Read a varint; as in Java, excess bits in its last byte are dropped."""
    data, pos = cursor.data, cursor.pos
    rest = shift = 0
    for end in range(pos, pos + most):
        byte = data[end]
        rest |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            cursor.pos = end + 1
            rest &= (1 << bits) - 1
            return (rest >> 1) ^ -(rest & 1)
    raise PayloadError(complaint)


def bytes_at(cursor: Cursor) -> bytes:
    """Read length-prefixed bytes."""
    size = long_at(cursor)
    start = cursor.pos
    end = start + size
    if size < 0:
        raise PayloadError(f"Malformed data. Length is negative: {size}")
    if end > len(cursor.data):
        raise PayloadError(f"a length of {size} bytes where {len(cursor.data) - start} are left")
    cursor.pos = end
    return cursor.data[start:end]


def text_at(cursor: Cursor) -> str:
    """Read a string; bytes that are not UTF-8 become question marks, as in Java."""
    return bytes_at(cursor).decode("utf-8", "replace")


def rest_at(cursor: Cursor) -> bytes:
    """Read all remaining bytes."""
    cursor.pos = len(cursor.data)
    return cursor.data


def rest_text_at(cursor: Cursor) -> str:
    """Read all remaining bytes as a string."""
    return rest_at(cursor).decode("utf-8", "replace")


def fixed_of(size: int) -> Read:
    """Return a reader of a fixed number of bytes."""

    def read(cursor: Cursor) -> bytes:
        start = cursor.pos
        end = start + size
        if end > len(cursor.data):
            raise IndexError
        cursor.pos = end
        return cursor.data[start:end]

    return read


def boolean_at(cursor: Cursor) -> bool:
    """Read a boolean; as in Java, any byte other than 1 is false."""
    byte = cursor.data[cursor.pos]
    cursor.pos += 1
    return byte == 1


def float_at(cursor: Cursor) -> float:
    """Read a 32-bit float."""
    (value,) = _FLOAT(cursor.data, cursor.pos)
    cursor.pos += 4
    return value  # type: ignore[no-any-return]


def double_at(cursor: Cursor) -> float:
    """Read a 64-bit float."""
    (value,) = _DOUBLE(cursor.data, cursor.pos)
    cursor.pos += 8
    return value  # type: ignore[no-any-return]


def null_at(cursor: Cursor) -> None:
    """Read nothing."""
    return


PLAIN: dict[str, Read] = {
    "null": null_at, "boolean": boolean_at, "int": int_at, "long": long_at, "float": float_at, "double": double_at,
    "bytes": bytes_at, "string": text_at,
}  # fmt: skip


def least_size(type_: AvroType) -> int:
    """Return the minimum number of bytes of a value."""
    return _least_size(type_, [])


def _least_size(type_: AvroType, within: list[AvroType]) -> int:
    if type_.kind == "fixed":
        return type_.size
    if type_.kind != "record":
        return _WIDTH.get(type_.kind, 1)
    if any(each is type_ for each in within):
        return 1  # a type that requires itself has no finite value
    within = [*within, type_]
    return sum(_least_size(each.type, within) for each in type_.fields)


def counts(cursor: Cursor, least: int) -> int:
    """Read the number of items in the next block of an array or map, 0 at its end."""
    count = long_at(cursor)
    if count < 0:
        count = -count
        long_at(cursor)  # the size of the block in bytes
    left = len(cursor.data) - cursor.pos
    if count * least > left or (not least and count > MOST_EMPTY):
        raise PayloadError(f"{count} items where {left} bytes are left")
    return count


def branch_at(cursor: Cursor, parts: list[Read]) -> Read:
    """Read the number of a union's branch and return its reader."""
    number = int_at(cursor)
    if not 0 <= number < len(parts):
        raise PayloadError(f"{number} is no branch of a union of {len(parts)}")
    return parts[number]
