"""Thrift's compact protocol, in which a Parquet file's footer is written: any struct to Python values and back.

A struct is a dict of field number to (wire type, value), in ascending order; a list is (wire type, values).
"""

from __future__ import annotations

from typing import Any

STOP, TRUE, FALSE, I8, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(13)
_BOOLEANS = (TRUE, FALSE)
_INTEGERS = (I16, I32, I64)

Fields = dict[int, tuple[int, Any]]


class CompactReader:
    """Reads values from bytes."""

    def __init__(self, content: bytes) -> None:
        """Start at the first byte."""
        self._content = content
        self._at = 0

    def struct(self) -> Fields:
        """Return the next struct."""
        fields: Fields = {}
        number = 0
        while (head := self._byte()) != STOP:
            kind = head & 0x0F
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = (kind, kind == TRUE if kind in _BOOLEANS else self._value(kind))
        return fields

    def _value(self, kind: int) -> Any:
        if kind in _BOOLEANS:
            return self._byte() == TRUE
        if kind == I8:
            return self._byte()
        if kind in _INTEGERS:
            return self._signed()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._unsigned())
        if kind in (LIST, SET):
            return self._list()
        if kind == STRUCT:
            return self.struct()
        raise ValueError(f"a footer of Parquet has no values of Thrift's type {kind}")

    def _list(self) -> tuple[int, list[Any]]:
        head = self._byte()
        kind, count = head & 0x0F, head >> 4
        if count == 0x0F:
            count = self._unsigned()
        return kind, [self._value(kind) for _ in range(count)]

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._content):
            raise IndexError("the footer ends within a value")
        return self._content[self._at - size : self._at]

    def _unsigned(self) -> int:
        shift = value = 0
        while (byte := self._byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
        return value | byte << shift

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


def struct_bytes(fields: Fields) -> bytes:
    """Return a struct as bytes."""
    out = bytearray()
    _put_struct(out, fields)
    return bytes(out)


def _put_struct(out: bytearray, fields: Fields) -> None:
    before = 0
    for number, (kind, value) in fields.items():
        own = (TRUE if value else FALSE) if kind in _BOOLEANS else kind
        if 0 < number - before < 16:
            out.append((number - before) << 4 | own)
        else:
            out.append(own)
            _put_signed(out, number)
        if kind not in _BOOLEANS:
            _put(out, kind, value)
        before = number
    out.append(STOP)


def _put(out: bytearray, kind: int, value: Any) -> None:
    if kind in _BOOLEANS:
        out.append(TRUE if value else FALSE)
    elif kind == I8:
        out.append(value)
    elif kind in _INTEGERS:
        _put_signed(out, value)
    elif kind == DOUBLE:
        out += value
    elif kind == BINARY:
        _put_unsigned(out, len(value))
        out += value
    elif kind == STRUCT:
        _put_struct(out, value)
    else:
        item, values = value
        count = len(values)
        out.append(min(count, 0x0F) << 4 | item)
        if count >= 0x0F:
            _put_unsigned(out, count)
        for each in values:
            _put(out, item, each)


def _put_unsigned(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _put_signed(out: bytearray, value: int) -> None:
    _put_unsigned(out, value << 1 ^ value >> 63)
