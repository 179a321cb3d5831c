"""Protobuf's wire format for single values: encodes and decodes scalars, and skips unknown fields."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from hearth_registry.schema_format import PayloadError

VARINT, FIXED64, LENGTH, GROUP, GROUP_END, FIXED32 = range(6)
DEEPEST = 100
"""Maximum nesting of messages, as in Java's library."""
_LOW = 0xFFFF_FFFF
_ALL = 0xFFFF_FFFF_FFFF_FFFF
_SMALL = [bytes([number]) for number in range(128)]

Encode = Callable[[Any], bytes]
Decode = Callable[[bytes, int, int], "tuple[Any, int]"]


def varint(number: int) -> bytes:
    """Return a non-negative number as a varint."""
    if number < 128:
        return _SMALL[number]
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return a varint and its end; raise `PayloadError` if it is malformed."""
    number = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & _ALL, at
        shift += 7
        if shift > 63:
            raise PayloadError("Protocol message contained a malformed varint")
    raise truncated()


def read_length(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return the start and end of length-prefixed content."""
    length, at = read_varint(data, at, end)
    if length > end - at:
        raise truncated()
    return at, at + length


def skip(data: bytes, at: int, end: int, key: int, depth: int = 0) -> int:
    """Return the end of an unknown field's value."""
    wire = key & 7
    if wire == VARINT:
        return read_varint(data, at, end)[1]
    if wire == LENGTH:
        return read_length(data, at, end)[1]
    if wire in (FIXED32, FIXED64):
        at += 4 if wire == FIXED32 else 8
        if at > end:
            raise truncated()
        return at
    if wire != GROUP or depth > DEEPEST:
        raise PayloadError("Protocol message tag had invalid wire type")
    while True:
        inner, at = read_varint(data, at, end)
        if inner & 7 == GROUP_END:
            if inner >> 3 != key >> 3:
                raise PayloadError("Protocol message end-group tag did not match expected tag")
            return at
        at = skip(data, at, end, inner, depth + 1)


def truncated() -> PayloadError:
    """Return the error for a truncated message."""
    return PayloadError("While parsing a protocol message, the input ended unexpectedly in the middle of a field")


def signed(number: int, bits: int) -> int:
    """Return the lowest bits of a number as a signed number."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _packed(layout: str) -> tuple[Encode, Decode]:
    form = struct.Struct(layout)
    size, unpack = form.size, form.unpack_from

    def decode(data: bytes, at: int, end: int) -> tuple[Any, int]:
        if at + size > end:
            raise truncated()
        return unpack(data, at)[0], at + size

    return form.pack, decode


def _varints(to_wire: Callable[[int], int], from_wire: Callable[[int], Any]) -> tuple[Encode, Decode]:
    def decode(data: bytes, at: int, end: int) -> tuple[Any, int]:
        if at < end and data[at] < 128:
            return from_wire(data[at]), at + 1
        number, at = read_varint(data, at, end)
        return from_wire(number), at

    return lambda number: varint(to_wire(number)), decode


def _bytes(value: bytes) -> bytes:
    return varint(len(value)) + value


def _read_bytes(data: bytes, at: int, end: int) -> tuple[bytes, int]:
    start, end = read_length(data, at, end)
    return data[start:end], end


def _text(value: str) -> bytes:
    return _bytes(value.encode("utf-8", "replace"))


def _read_text(data: bytes, at: int, end: int) -> tuple[str, int]:
    start, end = read_length(data, at, end)
    try:
        return data[start:end].decode(), end
    except UnicodeDecodeError as error:
        raise PayloadError("Protocol message had invalid UTF-8") from error


def _zigzag(bits: int) -> Callable[[int], int]:
    return lambda number: ((number << 1) ^ (number >> (bits - 1))) & ((1 << bits) - 1)


def _unzigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def _wrapping(coder: tuple[Encode, Decode], bits: int, is_signed: bool) -> tuple[Encode, Decode]:
    """Return a codec that truncates numbers to their lowest bits and returns Java's 64-bit numbers."""
    encode, decode = coder

    def cut(number: int) -> bytes:
        return encode(signed(number, bits) if is_signed else number & ((1 << bits) - 1))

    return cut, decode


_INT32 = _varints(lambda number: signed(number, 32) & _ALL, lambda number: signed(number, 32))
_INT64 = _varints(lambda number: number & _ALL, lambda number: signed(number, 64))
SCALARS: dict[str, tuple[int, Encode, Decode]] = {
    "double": (FIXED64, *_packed("<d")),
    "float": (FIXED32, *_packed("<f")),
    "int32": (VARINT, *_INT32),
    "int64": (VARINT, *_INT64),
    "uint32": (VARINT, *_varints(lambda number: number & _LOW, lambda number: number & _LOW)),
    "uint64": (VARINT, *_INT64),
    "sint32": (VARINT, *_varints(_zigzag(32), lambda number: _unzigzag(number & _LOW))),
    "sint64": (VARINT, *_varints(_zigzag(64), _unzigzag)),
    "fixed32": (FIXED32, *_wrapping(_packed("<I"), 32, is_signed=False)),
    "fixed64": (FIXED64, *_wrapping(_packed("<q"), 64, is_signed=True)),
    "sfixed32": (FIXED32, *_wrapping(_packed("<i"), 32, is_signed=True)),
    "sfixed64": (FIXED64, *_wrapping(_packed("<q"), 64, is_signed=True)),
    "bool": (VARINT, *_varints(int, bool)),
    "string": (LENGTH, _text, _read_text),
    "bytes": (LENGTH, _bytes, _read_bytes),
}
"""The wire type, encoder and decoder of each scalar type, without the field's key."""
ENUM = (VARINT, *_INT32)
DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(SCALARS, 0), "double": 0.0, "float": 0.0, "bool": False, "string": "", "bytes": b"",
}  # fmt: skip
