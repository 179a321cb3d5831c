"""Variants: JSON values in the Variant Binary Encoding of Parquet and Spark, as a struct of two bytes fields.

`metadata` contains the distinct member names; `value` encodes the typed values and refers to these names. All numbers
are little-endian.
"""

from __future__ import annotations

import datetime as dt
import decimal
import struct
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from hearth_api import DataError, Schema, Struct
from hearth_json.literal import base64_literal, decimal_literal, double_literal, float_literal, string_literal

_VERSION = 1
_PRIMITIVE, _SHORT_TEXT, _OBJECT, _ARRAY = range(4)
_NULL, _TRUE, _FALSE, _INT8, _INT16, _INT32, _INT64, _DOUBLE, _DECIMAL4, _DECIMAL8, _DECIMAL16 = range(11)
_DATE, _MOMENT, _LOCAL, _FLOAT, _BYTES, _TEXT, _TIME, _NANO_MOMENT, _NANO_LOCAL, _UUID = range(11, 21)
_LONGEST_SHORT_TEXT = 63
_INTEGERS = {_INT8: 1, _INT16: 2, _INT32: 4, _INT64: 8}
_DECIMALS = {_DECIMAL4: (9, 4), _DECIMAL8: (18, 8), _DECIMAL16: (38, 16)}
_EPOCH = dt.datetime(1970, 1, 1)
_DEEPEST = 200


def variant_of(schema: Schema, tree: Any) -> Struct:
    """Return a JSON value as a variant."""
    names: dict[str, int] = {}
    try:
        value = _value(tree, names)
    except (RecursionError, OverflowError, UnicodeEncodeError) as error:
        raise DataError("JSON value cannot be a variant") from error
    return Struct(schema).put("metadata", _metadata(names)).put("value", value)


def variant_text(variant: Struct) -> str:
    """Return a variant as JSON text; raise DataError for invalid bytes."""
    try:
        return _Reader(variant.get("metadata") or b"", variant.get("value") or b"").text(0)
    except (IndexError, struct.error, ValueError, KeyError, OverflowError) as error:
        raise DataError("Invalid bytes for Variant field") from error


def _size(number: int) -> int:
    return max(1, (number.bit_length() + 7) // 8)


def _metadata(names: Mapping[str, int]) -> bytes:
    texts = [name.encode() for name in names]
    ends = _offsets(texts)
    size = _size(max(ends[-1], len(texts)))
    numbers = [len(texts), *ends]
    return bytes([_VERSION | (size - 1) << 6]) + _packed(numbers, size) + b"".join(texts)


def _offsets(parts: list[bytes]) -> list[int]:
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    return ends


def _packed(numbers: list[int], size: int) -> bytes:
    return b"".join([number.to_bytes(size, "little") for number in numbers])


def _value(tree: Any, names: dict[str, int]) -> bytes:
    if tree is None or isinstance(tree, bool):
        return _primitive(_NULL if tree is None else _TRUE if tree else _FALSE)
    if isinstance(tree, str):
        return _text(tree.encode())
    if isinstance(tree, int):
        kind = _INT32 if -(2**31) <= tree < 2**31 else _INT64
        is_wide = not -(2**63) <= tree < 2**63
        return _decimal(decimal.Decimal(tree)) if is_wide else _primitive(kind, _signed(tree, _INTEGERS[kind]))
    if isinstance(tree, decimal.Decimal):
        return _decimal(tree)
    return _array(tree, names) if isinstance(tree, list) else _object(tree, names)


def _primitive(kind: int, content: bytes = b"") -> bytes:
    return bytes([kind << 2 | _PRIMITIVE]) + content


def _signed(number: int, size: int) -> bytes:
    return number.to_bytes(size, "little", signed=True)


def _text(content: bytes) -> bytes:
    if len(content) <= _LONGEST_SHORT_TEXT:
        return bytes([len(content) << 2 | _SHORT_TEXT]) + content
    return _primitive(_TEXT, len(content).to_bytes(4, "little") + content)


def _decimal(number: decimal.Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    for kind, (most, size) in _DECIMALS.items():
        if len(digits) <= most and isinstance(exponent, int) and -128 <= -exponent < 128:
            unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
            return _primitive(kind, _signed(-exponent, 1) + _signed(unscaled, size))
    raise OverflowError("a number of more than 38 digits")


def _array(items: list[Any], names: dict[str, int]) -> bytes:
    parts = [_value(item, names) for item in items]
    ends = _offsets(parts)
    size = _size(ends[-1])
    is_large = len(parts) > 0xFF
    header = bytes([(is_large << 2 | size - 1) << 2 | _ARRAY]) + len(parts).to_bytes(4 if is_large else 1, "little")
    return header + _packed(ends, size) + b"".join(parts)


def _object(members: Mapping[str, Any], names: dict[str, int]) -> bytes:
    found: dict[str, bytes] = {}
    for name, item in members.items():
        names.setdefault(name, len(names))
        found[name] = _value(item, names)
    ordered = sorted(found, key=lambda name: name.encode("utf-16-be"))
    ids = [names[name] for name in ordered]
    parts = [found[name] for name in ordered]
    ends = _offsets(parts)
    size, id_size = _size(ends[-1]), _size(max(ids, default=0))
    is_large = len(parts) > 0xFF
    header = bytes([(is_large << 4 | (id_size - 1) << 2 | size - 1) << 2 | _OBJECT])
    count = len(parts).to_bytes(4 if is_large else 1, "little")
    return header + count + _packed(ids, id_size) + _packed(ends, size) + b"".join(parts)


class _Reader:
    """Converts a variant to JSON text."""

    def __init__(self, metadata: bytes, value: bytes) -> None:
        self._metadata, self._value = metadata, value
        self._depth = self._count = 0

    def text(self, at: int) -> str:
        self._count += 1
        if self._count > len(self._value):
            raise ValueError("more parts than bytes")
        header = self._value[at]
        basic, rest = header & 3, header >> 2
        if basic == _SHORT_TEXT:
            return string_literal(self._bytes(at + 1, rest).decode())
        if basic == _PRIMITIVE:
            return self._primitive(rest, at + 1)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("nested too deep")
        text = self._array(rest, at + 1) if basic == _ARRAY else self._object(rest, at + 1)
        self._depth -= 1
        return text

    def _bytes(self, at: int, length: int) -> bytes:
        content = self._value[at : at + length]
        if len(content) != length:
            raise IndexError("the value ends too soon")
        return content

    def _number(self, at: int, size: int) -> int:
        return int.from_bytes(self._bytes(at, size), "little")

    def _array(self, rest: int, at: int) -> str:
        size = (rest & 3) + 1
        count_size = 4 if rest >> 2 & 1 else 1
        count = self._number(at, count_size)
        offsets = at + count_size
        first = offsets + (count + 1) * size
        items = [self.text(first + self._number(offsets + index * size, size)) for index in range(count)]
        return f"[{','.join(items)}]"

    def _object(self, rest: int, at: int) -> str:
        size, id_size = (rest & 3) + 1, (rest >> 2 & 3) + 1
        count_size = 4 if rest >> 4 & 1 else 1
        count = self._number(at, count_size)
        ids = at + count_size
        offsets = ids + count * id_size
        first = offsets + (count + 1) * size
        members = [
            f"{string_literal(self._name(self._number(ids + index * id_size, id_size)))}"
            f":{self.text(first + self._number(offsets + index * size, size))}"
            for index in range(count)
        ]
        return f"{{{','.join(members)}}}"

    def _name(self, id_: int) -> str:
        size = (self._metadata[0] >> 6) + 1
        numbers = [
            int.from_bytes(self._metadata[1 + place * size : 1 + (place + 1) * size], "little")
            for place in (0, 1 + id_, 2 + id_)
        ]
        count, start, end = numbers
        if id_ >= count:
            raise IndexError("no such name")
        first = 1 + (count + 2) * size
        return self._metadata[first + start : first + end].decode()

    def _primitive(self, kind: int, at: int) -> str:
        if kind in _INTEGERS:
            return str(self._signed(at, _INTEGERS[kind]))
        if kind in _DECIMALS:
            _, size = _DECIMALS[kind]
            unscaled = decimal.Decimal(self._signed(at + 1, size))
            return decimal_literal(unscaled.scaleb(-self._signed(at, 1), decimal.Context(prec=40)))
        if kind in (_TEXT, _BYTES):
            content = self._bytes(at + 4, self._number(at, 4))
            return string_literal(content.decode()) if kind == _TEXT else base64_literal(content)
        return _OTHERS[kind](self, at)

    def _signed(self, at: int, size: int) -> int:
        return int.from_bytes(self._bytes(at, size), "little", signed=True)

    def _double(self, at: int) -> str:
        return double_literal(struct.unpack("<d", self._bytes(at, 8))[0])

    def _float(self, at: int) -> str:
        return float_literal(struct.unpack("<f", self._bytes(at, 4))[0])

    def _day(self, at: int) -> str:
        return f'"{(_EPOCH + dt.timedelta(days=self._signed(at, 4))).date().isoformat()}"'

    def _time(self, at: int) -> str:
        return f'"{_moment(self._signed(at, 8) * 1000)[11:]}"'

    def _uuid(self, at: int) -> str:
        return f'"{uuid.UUID(bytes=self._bytes(at, 16))}"'


def _moment(nanos: int) -> str:
    """Return an ISO timestamp with as many groups of three fractional digits as needed."""
    seconds, rest = divmod(nanos, 1_000_000_000)
    digits = f"{rest:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return (_EPOCH + dt.timedelta(seconds=seconds)).isoformat() + (f".{digits}" if digits else "")


_OTHERS: dict[int, Callable[[_Reader, int], str]] = {
    _NULL: lambda reader, at: "null",
    _TRUE: lambda reader, at: "true",
    _FALSE: lambda reader, at: "false",
    _DOUBLE: _Reader._double,
    _FLOAT: _Reader._float,
    _DATE: _Reader._day,
    _MOMENT: lambda reader, at: f'"{_moment(reader._signed(at, 8) * 1000)}Z"',
    _LOCAL: lambda reader, at: f'"{_moment(reader._signed(at, 8) * 1000)}"',
    _NANO_MOMENT: lambda reader, at: f'"{_moment(reader._signed(at, 8))}Z"',
    _NANO_LOCAL: lambda reader, at: f'"{_moment(reader._signed(at, 8))}"',
    _TIME: _Reader._time,
    _UUID: _Reader._uuid,
}
