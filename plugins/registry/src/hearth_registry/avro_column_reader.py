"""Decodes Avro payloads to columns, all rows at once, with the same values as the plain form.

Each row has a cursor, and each part of the schema is read in all rows before the next part: numbers with a few array
operations, strings by locating and copying them together. Rows without a part, such as nulls, are skipped. Unsupported
types, and bytes that the plain form would refuse or read unusually, are left to the plain form; a truncated payload is
detected by a cursor past its end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Date, Decimal, Schema, Time, Timestamp, Type
from hearth_api.batch import arrow_type, values_to_column
from hearth_api.layout import memory, number_type
from hearth_registry import avro_name as an
from hearth_registry.avro_map_order import order_read
from hearth_registry.avro_schema_reader import default_of
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_type import NO_DEFAULT, AvroField, AvroType
from hearth_registry.avro_value_reader import has_utf8
from hearth_registry.payload_block import UnsuitedError
from hearth_registry.payload_cursor import Rows, Source, scattered, spans, unsigned

_RANGES: dict[str | None, tuple[int, int]] = {
    Date.LOGICAL_NAME: (-719_162, 2_932_896),
    Time.LOGICAL_NAME: (0, 86_399_999),
    Timestamp.LOGICAL_NAME: (-62_135_596_800_000, 253_402_300_799_999),
}
"""The encoded numbers that Python's dates and times can represent."""
_INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
_ONE = np.uint64(1)
_MOST_BYTES = (1 << 31) - 1
_FEW_ROUNDS, _MANY_ROWS = 4, 64
"""Rounds, in which one item of each row is read, before a round requires a minimum number of rows."""
_MOST_LEVELS = 2
"""Maximum nesting of arrays and maps in the column form, since the rounds multiply."""


Take = Callable[[Rows], Any]
"""Reads a part of all rows as an Arrow array."""


class ColumnReader:
    """Reads columns of payloads written with one Avro schema."""

    _take: Take | None

    def __init__(self, settings: AvroSettings, written: AvroType, wanted: AvroType, schema: Schema | None) -> None:
        """Select a reader for each part of the schema, if it is supported."""
        self._settings = settings
        self._fails_on_rest = settings.fail_on_trailing_data
        self._level = 0
        try:
            # At the root, bytes have no length prefix, and reading them one by one is as fast.
            self._take = None if written.kind == "bytes" else self._part(written, wanted, schema)
        except UnsuitedError:
            self._take = None

    def values(self, payloads: Any) -> Any:
        """Return the values of a binary column without nulls; `NotImplemented` if it cannot."""
        if self._take is None:
            return NotImplemented
        content, offsets = memory(payloads)
        rows = Rows(Source(content), offsets[:-1].copy())
        try:
            column = self._take(rows)
        except UnsuitedError:
            return NotImplemented
        if (rows.at > offsets[1:]).any() or (self._fails_on_rest and (rows.at < offsets[1:]).any()):
            return NotImplemented
        return column

    def _part(self, written: AvroType, wanted: AvroType, schema: Schema | None) -> Take:
        if schema is None or an.is_union(schema):
            raise UnsuitedError
        if written.kind == "union":
            return self._union(written, wanted, schema)
        inner = [each for each in wanted.branches if each.kind != "null"] if wanted.kind == "union" else [wanted]
        if len(inner) != 1:
            raise UnsuitedError
        return self._value(written, inner[0], schema)

    def _union(self, written: AvroType, wanted: AvroType, schema: Schema) -> Take:
        """Return a reader of an optional value: the number of one of two branches, and the value after it."""
        kinds = [each.kind for each in written.branches]
        if len(kinds) != 2 or "null" not in kinds or not wanted.is_nullable:
            raise UnsuitedError
        number = 1 - kinds.index("null")
        take, type_ = self._part(written.branches[number], wanted, schema), arrow_type(schema)

        def read(rows: Rows) -> Any:
            heads = rows.source.content.take(rows.at, mode="clip")
            present = heads == 2 * number
            if (heads > 2).any() or (heads == 1).any():
                raise UnsuitedError
            rows.at += 1
            if present.all():
                return take(rows)
            some = rows.part(present)
            values = take(some)
            rows.join(present, some)
            return scattered(values, present, type_)

        return read

    def _value(self, written: AvroType, wanted: AvroType, schema: Schema) -> Take:
        if written.kind != wanted.kind:
            raise UnsuitedError
        if written.kind == "record":
            return self._record(written, wanted, schema)
        if written.kind == "map" or (written.kind == "array" and schema.type is Type.ARRAY):
            return self._nested(written, wanted, schema)
        if written.kind == "enum" and written.symbols == wanted.symbols:
            return _enum(written)
        return _scalar(written, schema)

    def _record(self, written: AvroType, wanted: AvroType, schema: Schema) -> Take:
        takes: list[tuple[int, Take]] = []
        for each in written.fields:
            number = wanted.place(each.name)
            if number is None:
                raise UnsuitedError
            takes.append((number, self._part(each.type, wanted.fields[number].type, schema.fields[number].schema)))
        read = {number for number, _ in takes}
        absent = [number for number in range(len(wanted.fields)) if number not in read]
        defaults = {number: self._default(wanted.fields[number], schema.fields[number].schema) for number in absent}
        type_ = arrow_type(schema)

        def take(rows: Rows) -> Any:
            columns: list[Any] = [None] * len(wanted.fields)
            for number, each in takes:
                columns[number] = each(rows)
            for number, value in defaults.items():
                columns[number] = value.take(pa.array(np.zeros(len(rows), np.int64)))
            if not columns:
                return pa.array([{}] * len(rows), type_)
            return pa.StructArray.from_arrays(columns, fields=list(type_))

        return take

    def _default(self, field: AvroField, schema: Schema) -> Any:
        """Return the default of a field as a column of one row."""
        if field.default is NO_DEFAULT:
            raise UnsuitedError
        value = None if field.default is None else default_of(schema, field.type, field.default, self._settings)
        return values_to_column(schema, [value])

    def _nested(self, written: AvroType, wanted: AvroType, schema: Schema) -> Take:
        if self._level == _MOST_LEVELS:
            raise UnsuitedError
        self._level += 1
        take = (self._map if written.kind == "map" else self._array)(written, wanted, schema)
        self._level -= 1
        return take

    def _array(self, written: AvroType, wanted: AvroType, schema: Schema) -> Take:
        take, type_ = self._part(written.items, wanted.items, schema.value_schema), arrow_type(schema)

        def read(rows: Rows) -> Any:
            counts = _counts(rows)
            (items,) = _rounds(rows, counts, lambda some: (take(some),), (type_.value_type,))
            return pa.ListArray.from_arrays(_edges(counts), items).cast(type_)

        return read

    def _map(self, written: AvroType, wanted: AvroType, schema: Schema) -> Take:
        take, type_ = self._part(written.items, wanted.items, schema.value_schema), arrow_type(schema)
        inner, are_utf8 = (type_.key_type, type_.item_type), has_utf8(wanted)

        def read(rows: Rows) -> Any:
            counts = _counts(rows)
            keys, items = _rounds(rows, counts, lambda some: (_text(some), take(some)), inner)
            order = _hash_order(counts, keys, are_utf8)
            if order is not None:
                keys, items = keys.take(order), items.take(order)
            return pa.MapArray.from_arrays(_edges(counts), keys, items).cast(type_)

        return read


def longs(rows: Rows) -> Any:
    """Read 64-bit numbers into a numpy array."""
    rest = unsigned(rows, 10)
    return (rest >> _ONE).view(np.int64) ^ -(rest & _ONE).view(np.int64)


def ints(rows: Rows) -> Any:
    """Read 32-bit numbers into a numpy array."""
    rest = unsigned(rows, 5).astype(np.uint32)
    return (rest >> np.uint32(1)).view(np.int32) ^ -(rest & np.uint32(1)).view(np.int32)


def _scalar(written: AvroType, schema: Schema) -> Take:
    if schema.type in _INTEGERS:
        return _integers(written, schema)
    if written.kind == "double" or written.kind == "float":
        return _doubles if written.kind == "double" else _floats
    if written.kind == "boolean":
        return _booleans
    if written.kind == "string":
        return _text
    if written.kind == "bytes":
        return _decimals if schema.name == Decimal.LOGICAL_NAME else _binary
    if written.kind == "fixed" and schema.name != Decimal.LOGICAL_NAME:
        return lambda rows: spans(rows, np.full(len(rows), written.size, np.int64))
    raise UnsuitedError


def _integers(written: AvroType, schema: Schema) -> Take:
    take, type_ = ints if written.kind == "int" else longs, arrow_type(schema)
    dtype, limits = number_type(type_), _RANGES.get(schema.name)

    def read(rows: Rows) -> Any:
        numbers = take(rows)
        if limits is not None and len(numbers) and not limits[0] <= numbers.min() <= numbers.max() <= limits[1]:
            raise UnsuitedError
        return pa.array(numbers.astype(dtype, copy=False), type_)

    return read


def _doubles(rows: Rows) -> Any:
    values = rows.source.doubles[np.minimum(rows.at, rows.source.size)]
    rows.at = rows.at + 8
    return pa.array(values)


def _floats(rows: Rows) -> Any:
    values = rows.source.floats[np.minimum(rows.at, rows.source.size)]
    rows.at = rows.at + 4
    return pa.array(values)


def _booleans(rows: Rows) -> Any:
    values = rows.source.content.take(rows.at, mode="clip") == 1
    rows.at = rows.at + 1
    return pa.array(values)


def _enum(written: AvroType) -> Take:
    symbols = pa.array(written.symbols, pa.string())

    def read(rows: Rows) -> Any:
        numbers = ints(rows)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(symbols):
            raise UnsuitedError
        return symbols.take(pa.array(numbers))

    return read


def _text(rows: Rows) -> Any:
    try:
        return _binary(rows).cast(pa.string())
    except pa.ArrowInvalid as error:
        raise UnsuitedError from error


def _binary(rows: Rows) -> Any:
    sizes = longs(rows)
    if len(sizes) and (sizes.min() < 0 or sizes.max() > rows.source.size):
        raise UnsuitedError
    return spans(rows, sizes)


def _decimals(rows: Rows) -> Any:
    """Read unscaled numbers, which must have a minimal encoding."""
    column = _binary(rows)
    content, offsets = memory(column)
    sizes = np.diff(offsets)
    starts = offsets[:-1][sizes > 1]
    first, second = content[starts], content[starts + 1] >= 0x80
    if sizes.min(initial=1) < 1 or (((first == 0) & ~second) | ((first == 0xFF) & second)).any():
        raise UnsuitedError
    return column


def _counts(rows: Rows) -> Any:
    """Read the item counts of the arrays or maps in all rows, if each has a single block."""
    counts = longs(rows)
    if len(counts) and (counts.min() < 0 or counts.max() > rows.source.size or counts.sum() > rows.source.size):
        raise UnsuitedError
    rounds = int(counts.max(initial=0))
    if rounds > _FEW_ROUNDS and counts.sum() < min(rounds, _MANY_ROWS) * rounds:
        raise UnsuitedError
    return counts


def _rounds(
    rows: Rows, counts: Any, take: Callable[[Rows], tuple[Any, ...]], types: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Read the items of all rows in rounds, one item of each row at a time, and the final zero."""
    parts: list[tuple[Any, ...]] = []
    places: list[Any] = []
    starts = np.cumsum(counts) - counts
    for number in range(int(counts.max(initial=0))):
        mask = counts > number
        some = rows.part(mask)
        parts.append(take(some))
        places.append(starts[mask] + number)
        rows.join(mask, some)
    filled = counts > 0
    ends = rows.source.content.take(rows.at[filled], mode="clip")
    if ends.any():
        raise UnsuitedError
    rows.at = rows.at + filled
    if not parts:
        return tuple(pa.array([], type_) for type_ in types)
    if len(parts) == 1:
        return parts[0]
    order = np.empty(int(counts.sum()), np.int64)
    order[np.concatenate(places)] = np.arange(len(order))
    return tuple(pa.concat_arrays(list(each)).take(pa.array(order)) for each in zip(*parts))


def _edges(counts: Any) -> Any:
    edges = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=edges[1:])
    if edges[-1] > _MOST_BYTES:
        raise UnsuitedError
    return pa.array(edges.astype(np.int32))


def _hash_order(counts: Any, keys: Any, are_utf8: bool) -> Any:
    """Return the order of map entries in Java's HashMap; None if they have it already."""
    many = np.flatnonzero(counts > 1).tolist()
    if not many:
        return None
    order, names, ends = np.arange(len(keys)), keys.to_pylist(), np.cumsum(counts).tolist()
    for row in many:
        end = ends[row]
        start = end - int(counts[row])
        places = {name: start + number for number, name in enumerate(names[start:end])}
        if len(places) < end - start:
            raise UnsuitedError
        order[start:end] = [places[name] for name in order_read(tuple(places), are_utf8)]
    return pa.array(order)
