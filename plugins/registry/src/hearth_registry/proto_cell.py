"""Reads the scalars of Protobuf messages in many rows at once, each with its own cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Decimal, Schema, Type, is_logical
from hearth_api.batch import arrow_type
from hearth_api.layout import as_string, memory, number_type
from hearth_json.strict_reader import RANGES
from hearth_registry import proto_known as known
from hearth_registry.payload_block import UnsuitedError
from hearth_registry.payload_cursor import Rows, spans, unsigned
from hearth_registry.proto_file import ProtoEnum
from hearth_registry.proto_wire import LENGTH, SCALARS, VARINT

_FIXED = {"double": "<f8", "float": "<f4", "fixed32": "<u4", "sfixed32": "<i4", "fixed64": "<i8", "sfixed64": "<i8"}
_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


class Cells:
    """Rows of messages being read: position, end, and whether the result is certain."""

    def __init__(self, rows: Rows, ends: Any) -> None:
        self.rows, self.ends = rows, ends
        self.sure = np.ones(len(rows), bool)

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, mask: Any) -> Cells:
        """Return a subset of the rows; `join` copies its positions back."""
        return Cells(self.rows.part(mask), self.ends[mask])

    def join(self, mask: Any, part: Cells) -> None:
        """Take over the positions of a subset."""
        self.rows.at = self.rows.at.copy()
        self.rows.join(mask, part.rows)
        self.sure[mask] &= part.sure


Read = Callable[[Cells], Any]
"""Reads one part of all rows as an Arrow array, and marks the uncertain rows."""


def begins(cells: Cells, key: bytes) -> Any:
    """Return for each row whether a key comes next."""
    rows = cells.rows
    found = rows.at + len(key) <= cells.ends
    for number, byte in enumerate(key):
        found &= rows.source.content.take(rows.at + number, mode="clip") == byte
    return found


def varints(cells: Cells) -> Any:
    """Read varints; a row without one becomes uncertain."""
    rows = cells.rows
    before = rows.at
    try:
        numbers = unsigned(rows, 10)
    except UnsuitedError:
        cells.sure[:] = False
        rows.at = before + 1
        return np.zeros(len(before), np.uint64)
    cells.sure &= rows.at <= cells.ends
    return numbers


def lengths(cells: Cells) -> tuple[Any, Any]:
    """Read lengths and return the start and end of the content."""
    sizes = varints(cells)
    left = cells.ends - cells.rows.at
    fits = (left >= 0) & (sizes <= np.maximum(left, 0).astype(np.uint64))
    cells.sure &= fits
    starts = np.minimum(cells.rows.at, cells.ends)
    return starts, starts + np.where(fits, sizes, 0).astype(np.int64)


def scalar(kind: str, schema: Schema) -> tuple[int, Read]:
    """Return the wire type and reader of a scalar; logical types are not scalars."""
    wire, _, _ = SCALARS[kind]
    if is_logical(schema):
        raise UnsuitedError
    if kind in _FIXED:
        return wire, _fixed(kind, schema)
    if wire == LENGTH:
        return wire, _texts if kind == "string" else _bytes
    return wire, _numbers(kind, schema)


def _numbers(kind: str, schema: Schema) -> Read:
    type_ = arrow_type(schema)
    dtype = None if schema.type is Type.BOOLEAN else number_type(type_)

    def read(cells: Cells) -> Any:
        numbers = varints(cells)
        if dtype is None:
            return pa.array(numbers != 0)
        if kind in ("uint32", "sint32"):
            numbers = numbers & np.uint64(0xFFFF_FFFF)
        wide = numbers.view(np.int64)
        if kind in ("sint32", "sint64"):
            wide = (numbers >> np.uint64(1)).view(np.int64) ^ -(wide & 1)
        return pa.array(wide.astype(dtype), type_)

    return read


def _fixed(kind: str, schema: Schema) -> Read:
    dtype, type_ = np.dtype(_FIXED[kind]), arrow_type(schema)
    target = number_type(type_)

    def read(cells: Cells) -> Any:
        rows = cells.rows
        words = rows.source.words.take(rows.at, mode="clip")
        rows.at = rows.at + dtype.itemsize
        cells.sure &= rows.at <= cells.ends
        narrow = words if dtype.itemsize == 8 else (words & np.uint64(0xFFFF_FFFF)).astype("<u4")
        return pa.array(narrow.view(dtype).astype(target), type_)

    return read


def _bytes(cells: Cells) -> Any:
    starts, ends = lengths(cells)
    cells.rows.at = starts
    return spans(cells.rows, ends - starts)


def _texts(cells: Cells) -> Any:
    column = _bytes(cells)
    try:
        column.cast(pa.string())
    except pa.ArrowInvalid:
        cells.sure[:] = False
        return pa.array([""] * len(cells), pa.string())
    return as_string(column)


def enum_symbols(enum: ProtoEnum, schema: Schema) -> tuple[int, Read]:
    """Return the wire type of an enum and the reader of its symbols or numbers."""
    names: dict[int, str] = {}
    for name, number in enum.values:
        names.setdefault(number, name)
    known_numbers = np.array(sorted(names), np.int64)
    symbols = pa.array([names[number] for number in sorted(names)], pa.string())

    def read(cells: Cells) -> Any:
        numbers = varints(cells).view(np.int64).astype(np.int32)
        if not len(known_numbers):
            raise UnsuitedError
        places = np.searchsorted(known_numbers, numbers).clip(max=len(known_numbers) - 1)
        cells.sure &= known_numbers[places] == numbers
        return pa.array(numbers) if schema.type is Type.INT32 else symbols.take(pa.array(places))

    return VARINT, read


def default_of(kind: str | ProtoEnum, schema: Schema) -> Any:
    """Return the value of an unset field."""
    type_ = arrow_type(schema)
    if isinstance(kind, ProtoEnum):
        name, number = kind.values[0] if kind.values else ("", 0)
        return pa.scalar(number if schema.type is Type.INT32 else name, type_)
    if kind == "bool":
        return pa.scalar(False, type_)
    return pa.scalar("" if kind == "string" else b"" if kind == "bytes" else 0, type_)


def _parts(cells: Cells, count: int) -> list[Any]:
    """Read a message whose fields, starting at 1, are integers."""
    found = []
    for number in range(1, count + 1):
        there = begins(cells, bytes([number << 3]))
        some = cells.part(there)
        some.rows.at = some.rows.at + 1
        values = np.zeros(len(cells), np.int64)
        values[there] = varints(some).view(np.int64)
        cells.join(there, some)
        found.append(values)
    return found


def _ranged(cells: Cells, numbers: Any, schema: Schema) -> Any:
    """Return numbers as a column of a logical type; values out of Python's range are uncertain."""
    low, high = RANGES[schema.name]
    fits = (numbers >= low) & (numbers <= high)
    cells.sure &= fits
    return pa.array(np.where(fits, numbers, 0).astype(number_type(arrow_type(schema))), arrow_type(schema))


def _dates(schema: Schema) -> Read:
    def read(cells: Cells) -> Any:
        year, month, day = _parts(cells, 3)
        fits = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        year, month = np.where(fits, year, 2000), np.where(fits, month, 1)
        is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
        fits &= day <= _DAYS[month] + (is_leap & (month == 2))
        first = ((year - 1970) * 12 + month - 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        cells.sure &= fits
        return _ranged(cells, np.where(fits, first + day - 1, 0), schema)

    return read


def _times(schema: Schema) -> Read:
    def read(cells: Cells) -> Any:
        hours, minutes, seconds, nanos = _parts(cells, 4)
        for part, most in ((hours, 23), (minutes, 59), (seconds, 59), (nanos, 999_999_999)):
            cells.sure &= (part >= 0) & (part <= most)
        millis = ((hours % 24 * 60 + minutes % 60) * 60 + seconds % 60) * 1000 + nanos // 1_000_000 % 1000
        return _ranged(cells, millis, schema)

    return read


def _timestamps(schema: Schema) -> Read:
    def read(cells: Cells) -> Any:
        seconds, nanos = _parts(cells, 2)
        fits = (np.abs(seconds) < 1 << 40) & (nanos >= 0) & (nanos < 1_000_000_000)
        cells.sure &= fits
        return _ranged(cells, np.where(fits, seconds, 0) * 1000 + nanos // 1_000_000, schema)

    return read


def _decimals(schema: Schema) -> Read:
    """Return a reader of decimals in their schema's scale with minimal encoding."""
    scale = Decimal.scale(schema)

    def read(cells: Cells) -> Any:
        cells.sure &= begins(cells, b"\x0a")
        cells.rows.at = cells.rows.at + 1
        column = _bytes(cells)
        content, offsets = memory(column)
        sizes = np.diff(offsets)
        content = np.append(content, np.zeros(2, np.uint8))
        first, second = content[offsets[:-1]], content[offsets[:-1] + 1] >= 0x80
        is_long = (sizes > 1) & (((first == 0) & ~second) | ((first == 0xFF) & second))
        scales = np.zeros(len(cells), np.int64)
        for key in (b"\x10", b"\x18"):  # the precision, which is unused, and the scale
            there = begins(cells, key)
            some = cells.part(there)
            some.rows.at = some.rows.at + 1
            scales[:] = 0
            scales[there] = varints(some).view(np.int64)
            cells.join(there, some)
        cells.sure &= (sizes > 0) & ~is_long & (scales == scale)
        return column

    return read


LOGICAL: dict[str, Callable[[Schema], Read]] = {
    known.DATE: _dates,
    known.TIME: _times,
    known.TIMESTAMP: _timestamps,
    known.DECIMAL: _decimals,
}
"""Readers of the messages of logical types, by full name, for a schema."""
