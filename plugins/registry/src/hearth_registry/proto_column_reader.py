"""Protobuf messages as columns: all rows at once, with the values that the plain form reads row by row.

Writers put fields in the order of their numbers. So every row has a cursor, which passes one field after the other
where the field is there; what a row has beside, lists, oneofs, fields in another order, stops its cursor before the
end. Such rows are read by the plain form, and so are values that need a closer look, and all that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Decimal, Schema, Type, is_logical
from hearth_api.batch import arrow_type, values_to_column
from hearth_api.layout import are_few, as_string, memory
from hearth_json.strict_reader import RANGES
from hearth_registry import proto_known as known
from hearth_registry.payload_block import UnsuitedError
from hearth_registry.payload_cursor import Rows, Source, scattered, spans, unsigned
from hearth_registry.proto_file import REPEATED, REQUIRED, ProtoEnum, ProtoField, ProtoFile, ProtoMessage
from hearth_registry.proto_schema_reader import is_told
from hearth_registry.proto_wire import LENGTH, SCALARS, VARINT, varint
from hearth_registry.protobuf_setting import ProtobufSettings

_FIXED = {"double": "<f8", "float": "<f4", "fixed32": "<u4", "sfixed32": "<i4", "fixed64": "<i8", "sfixed64": "<i8"}
_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_Read = Callable[["_Cells"], Any]


class _Cells:
    """Rows of messages that are being read: where each is, where it ends, and whether it is sure to be read right."""

    def __init__(self, rows: Rows, ends: Any) -> None:
        self.rows, self.ends = rows, ends
        self.sure = np.ones(len(rows), bool)

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, mask: Any) -> _Cells:
        """Return some of the rows; `join` tells these how far they have come."""
        return _Cells(self.rows.part(mask), self.ends[mask])

    def join(self, mask: Any, part: _Cells) -> None:
        """Go on where some of the rows have come to."""
        self.rows.at = self.rows.at.copy()
        self.rows.join(mask, part.rows)
        self.sure[mask] &= part.sure


class ProtoColumnReader:
    """Reads columns of payloads of one message."""

    def __init__(
        self,
        file: ProtoFile,
        settings: ProtobufSettings,
        schema: Schema,
        message: ProtoMessage,
        plain: Callable[[bytes], Any],
    ) -> None:
        """Find a way for each part of the schema, if there is one; `plain` reads what is left."""
        self._file, self._settings, self._schema, self._plain = file, settings, schema, plain
        self._read: _Read | None = None
        if schema.type is Type.STRUCT and not settings.generate_struct_for_nulls:
            try:
                self._read = self._message(schema, message)
            except UnsuitedError:
                self._read = None

    def values(self, payloads: Any) -> Any:
        """Return the values of a binary column without nulls; `NotImplemented` if it cannot."""
        if self._read is None or are_few(len(payloads)):
            return NotImplemented
        content, offsets = memory(payloads)
        cells = _Cells(Rows(Source(content), offsets[:-1].copy()), offsets[1:])
        column = self._read(cells)
        if cells.sure.all():
            return column
        rows = np.flatnonzero(~cells.sure)
        values = [self._plain(payload) for payload in payloads.take(pa.array(rows)).to_pylist()]
        others = values_to_column(self._schema, values)
        places = np.arange(len(payloads))
        places[rows] = len(payloads) + np.arange(len(rows))
        return pa.concat_arrays([column, others]).take(pa.array(places))

    def _message(self, schema: Schema, message: ProtoMessage) -> _Read:
        """Return what reads messages as a column of structs, and marks the rows it is not sure of."""
        type_ = arrow_type(schema)
        reads: list[tuple[int, int, _Read]] = []
        absent: dict[int, Any] = {}
        for each in message.fields:
            if each.label == REQUIRED or each.default is not None:
                raise UnsuitedError
        names = {each.name: each for each in message.fields if each.oneof is None}
        for field in schema.fields:
            target = names.get(field.name)
            if target is not None and target.label != REPEATED:
                reads.append((target.number, field.index, self._field(field.schema, target)))
            else:
                is_list = target is not None and field.schema.type in (Type.ARRAY, Type.MAP)
                empty: Any = {} if field.schema.type is Type.MAP else []
                absent[field.index] = values_to_column(field.schema, [empty if is_list else None])
        reads.sort(key=lambda part: part[0])

        def read(cells: _Cells) -> Any:
            columns: list[Any] = [None] * len(schema.fields)
            for _, index, each in reads:
                columns[index] = each(cells)
            for index, value in absent.items():
                columns[index] = value.take(pa.array(np.zeros(len(cells), np.int64)))
            cells.sure &= cells.rows.at == cells.ends
            if not columns:
                return pa.array([{}] * len(cells), type_)
            return pa.StructArray.from_arrays(columns, fields=list(type_))

        return read

    def _field(self, schema: Schema, each: ProtoField) -> _Read:
        """Return what reads a field where it is there, and gives its default, or a null, where it is not."""
        kind, type_ = each.kind, arrow_type(schema)
        if isinstance(kind, ProtoMessage):
            take, wire, default = self._inner(schema, kind), LENGTH, None
        else:
            wire, take = _enum(kind, schema) if isinstance(kind, ProtoEnum) else _scalar(kind, schema)
            default = None if is_told(each, self._file, self._settings) else _default(kind, schema)
        key = varint(each.number << 3 | wire)

        def read(cells: _Cells) -> Any:
            there = _begins(cells, key)
            if there.all():
                cells.rows.at = cells.rows.at + len(key)
                return take(cells)
            some = cells.part(there)
            some.rows.at = some.rows.at + len(key)
            values = take(some)
            cells.join(there, some)
            column = scattered(values, there, type_)
            return column if default is None else column.fill_null(default)

        return read

    def _inner(self, schema: Schema, message: ProtoMessage) -> _Read:
        """Return what reads a message that stands in another, after its key."""
        if is_logical(schema):
            take = _LOGICAL[message.full_name](schema)
        elif schema.type is Type.STRUCT:
            take = self._message(schema, message)
        elif message.full_name in known.WRAPPED:
            take = self._field(schema, message.fields[0])
        else:
            raise UnsuitedError

        def read(cells: _Cells) -> Any:
            starts, ends = _lengths(cells)
            inner = _Cells(Rows(cells.rows.source, starts), ends)
            column = take(inner)
            cells.sure &= inner.sure & (inner.rows.at == ends)
            cells.rows.at = ends
            return column

        return read


def _begins(cells: _Cells, key: bytes) -> Any:
    """Tell for every row whether a key comes next."""
    rows = cells.rows
    found = rows.at + len(key) <= cells.ends
    for number, byte in enumerate(key):
        found &= rows.source.content.take(rows.at + number, mode="clip") == byte
    return found


def _varints(cells: _Cells) -> Any:
    """Read numbers of seven bits in a byte; where there is none the row is not sure."""
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


def _lengths(cells: _Cells) -> tuple[Any, Any]:
    """Read lengths, and return from where to where there are so many bytes."""
    sizes = _varints(cells)
    left = cells.ends - cells.rows.at
    fits = (left >= 0) & (sizes <= np.maximum(left, 0).astype(np.uint64))
    cells.sure &= fits
    starts = np.minimum(cells.rows.at, cells.ends)
    return starts, starts + np.where(fits, sizes, 0).astype(np.int64)


def _scalar(kind: str, schema: Schema) -> tuple[int, _Read]:
    wire, _, _ = SCALARS[kind]
    if is_logical(schema):
        raise UnsuitedError
    if kind in _FIXED:
        return wire, _fixed(kind, schema)
    if wire == LENGTH:
        return wire, _texts if kind == "string" else _bytes
    return wire, _numbers(kind, schema)


def _numbers(kind: str, schema: Schema) -> _Read:
    type_ = arrow_type(schema)
    dtype = None if schema.type is Type.BOOLEAN else type_.to_pandas_dtype()

    def read(cells: _Cells) -> Any:
        numbers = _varints(cells)
        if dtype is None:
            return pa.array(numbers != 0)
        if kind in ("uint32", "sint32"):
            numbers = numbers & np.uint64(0xFFFF_FFFF)
        wide = numbers.view(np.int64)
        if kind in ("sint32", "sint64"):
            wide = (numbers >> np.uint64(1)).view(np.int64) ^ -(wide & 1)
        return pa.array(wide.astype(dtype), type_)

    return read


def _fixed(kind: str, schema: Schema) -> _Read:
    dtype, type_ = np.dtype(_FIXED[kind]), arrow_type(schema)
    target = type_.to_pandas_dtype()

    def read(cells: _Cells) -> Any:
        rows = cells.rows
        words = rows.source.words.take(rows.at, mode="clip")
        rows.at = rows.at + dtype.itemsize
        cells.sure &= rows.at <= cells.ends
        narrow = words if dtype.itemsize == 8 else (words & np.uint64(0xFFFF_FFFF)).astype("<u4")
        return pa.array(narrow.view(dtype).astype(target), type_)

    return read


def _bytes(cells: _Cells) -> Any:
    starts, ends = _lengths(cells)
    cells.rows.at = starts
    return spans(cells.rows, ends - starts)


def _texts(cells: _Cells) -> Any:
    column = _bytes(cells)
    try:
        column.cast(pa.string())
    except pa.ArrowInvalid:
        cells.sure[:] = False
        return pa.array([""] * len(cells), pa.string())
    return as_string(column)


def _enum(enum: ProtoEnum, schema: Schema) -> tuple[int, _Read]:
    names: dict[int, str] = {}
    for name, number in enum.values:
        names.setdefault(number, name)
    known_numbers = np.array(sorted(names), np.int64)
    symbols = pa.array([names[number] for number in sorted(names)], pa.string())

    def read(cells: _Cells) -> Any:
        numbers = _varints(cells).view(np.int64).astype(np.int32)
        if not len(known_numbers):
            raise UnsuitedError
        places = np.searchsorted(known_numbers, numbers).clip(max=len(known_numbers) - 1)
        cells.sure &= known_numbers[places] == numbers
        return pa.array(numbers) if schema.type is Type.INT32 else symbols.take(pa.array(places))

    return VARINT, read


def _default(kind: str | ProtoEnum, schema: Schema) -> Any:
    type_ = arrow_type(schema)
    if isinstance(kind, ProtoEnum):
        name, number = kind.values[0] if kind.values else ("", 0)
        return pa.scalar(number if schema.type is Type.INT32 else name, type_)
    if kind == "bool":
        return pa.scalar(False, type_)
    return pa.scalar("" if kind == "string" else b"" if kind == "bytes" else 0, type_)


def _parts(cells: _Cells, count: int) -> list[Any]:
    """Read a message whose fields, from 1 on, are whole numbers."""
    found = []
    for number in range(1, count + 1):
        there = _begins(cells, bytes([number << 3]))
        some = cells.part(there)
        some.rows.at = some.rows.at + 1
        values = np.zeros(len(cells), np.int64)
        values[there] = _varints(some).view(np.int64)
        cells.join(there, some)
        found.append(values)
    return found


def _ranged(cells: _Cells, numbers: Any, schema: Schema) -> Any:
    """Return numbers as a column of a logical type; those that Python's cannot hold are not sure."""
    low, high = RANGES[schema.name]
    fits = (numbers >= low) & (numbers <= high)
    cells.sure &= fits
    return pa.array(np.where(fits, numbers, 0).astype(arrow_type(schema).to_pandas_dtype()), arrow_type(schema))


def _dates(schema: Schema) -> _Read:
    def read(cells: _Cells) -> Any:
        year, month, day = _parts(cells, 3)
        fits = (year >= 1) & (year <= 9999) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
        year, month = np.where(fits, year, 2000), np.where(fits, month, 1)
        is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
        fits &= day <= _DAYS[month] + (is_leap & (month == 2))
        first = ((year - 1970) * 12 + month - 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        cells.sure &= fits
        return _ranged(cells, np.where(fits, first + day - 1, 0), schema)

    return read


def _times(schema: Schema) -> _Read:
    def read(cells: _Cells) -> Any:
        hours, minutes, seconds, nanos = _parts(cells, 4)
        for part, most in ((hours, 23), (minutes, 59), (seconds, 59), (nanos, 999_999_999)):
            cells.sure &= (part >= 0) & (part <= most)
        millis = ((hours % 24 * 60 + minutes % 60) * 60 + seconds % 60) * 1000 + nanos // 1_000_000 % 1000
        return _ranged(cells, millis, schema)

    return read


def _timestamps(schema: Schema) -> _Read:
    def read(cells: _Cells) -> Any:
        seconds, nanos = _parts(cells, 2)
        fits = (np.abs(seconds) < 1 << 40) & (nanos >= 0) & (nanos < 1_000_000_000)
        cells.sure &= fits
        return _ranged(cells, np.where(fits, seconds, 0) * 1000 + nanos // 1_000_000, schema)

    return read


def _decimals(schema: Schema) -> _Read:
    """Return what reads decimals of their schema's scale, whose numbers have to be in as few bytes as they can."""
    scale = Decimal.scale(schema)

    def read(cells: _Cells) -> Any:
        cells.sure &= _begins(cells, b"\x0a")
        cells.rows.at = cells.rows.at + 1
        column = _bytes(cells)
        content, offsets = memory(column)
        sizes = np.diff(offsets)
        content = np.append(content, np.zeros(2, np.uint8))
        first, second = content[offsets[:-1]], content[offsets[:-1] + 1] >= 0x80
        is_long = (sizes > 1) & (((first == 0) & ~second) | ((first == 0xFF) & second))
        scales = np.zeros(len(cells), np.int64)
        for key in (b"\x10", b"\x18"):  # the precision, of which nothing depends, and the scale
            there = _begins(cells, key)
            some = cells.part(there)
            some.rows.at = some.rows.at + 1
            scales[:] = 0
            scales[there] = _varints(some).view(np.int64)
            cells.join(there, some)
        cells.sure &= (sizes > 0) & ~is_long & (scales == scale)
        return column

    return read


_LOGICAL: dict[str, Callable[[Schema], _Read]] = {
    known.DATE: _dates,
    known.TIME: _times,
    known.TIMESTAMP: _timestamps,
    known.DECIMAL: _decimals,
}
