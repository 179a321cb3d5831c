"""Encodes columns as Avro payloads, all rows at once, with the same bytes as the plain form.

Unsupported types, and values that the plain form would refuse, are left to the plain form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Decimal, Schema, Type
from hearth_api.batch import values_to_column
from hearth_api.java import hash_ordered
from hearth_api.layout import memory
from hearth_registry import avro_name as an
from hearth_registry.avro_schema_writer import is_plain_map
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_type import AvroType
from hearth_registry.payload_block import (
    Block,
    Make,
    Piece,
    UnsuitedError,
    binary_of,
    byte_block,
    constant_block,
    contents_of,
    joined,
    matrix_block,
    numbers_of,
    valid,
    varint_block,
)

_LONG = np.int64
_WIDTH = {"float": ("<f4", 4), "double": ("<f8", 8)}
_INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)


class ColumnWriter:
    """Writes columns of a Connect schema with an Avro schema."""

    _make: Make | None

    def __init__(self, settings: AvroSettings, schema: Schema | None, own: AvroType, target: AvroType) -> None:
        """Select a writer for each part of the schema, if it is supported."""
        self._settings = settings
        try:
            if schema is not None and schema.type is Type.BYTES and target.kind == "bytes":
                self._make = _raw(_scalar(schema, target))
            else:
                self._make = self._part(schema, own, target)
        except UnsuitedError:
            self._make = None

    def payloads(self, column: Any, prefix: bytes) -> Any:
        """Return the payloads of a column, each after the prefix, as a binary column, or `NotImplemented`."""
        if self._make is None:
            return NotImplemented
        try:
            return joined([constant_block(prefix, len(column), None), *self._make(column, None)], len(column))
        except UnsuitedError:
            return NotImplemented

    def _part(self, schema: Schema | None, own: AvroType, target: AvroType) -> Make:
        """Return an encoder of a part, including nulls."""
        if schema is None or an.is_union(schema):
            raise UnsuitedError
        inner = _present(own)
        if target.kind != "union":
            return self._required(schema, self._value(schema, inner, target))
        heads = [number for number, each in enumerate(target.branches) if each.full_name == inner.full_name]
        if not heads:
            raise UnsuitedError
        make = self._value(schema, inner, target.branches[heads[0]])
        nulls = [number for number, each in enumerate(target.branches) if each.kind == "null"]
        if not schema.optional or not nulls:
            return self._headed(heads[0], self._required(schema, make))
        return self._optional(schema, heads[0], nulls[0], make)

    def _required(self, schema: Schema, make: Make) -> Make:
        def pieces(column: Any, rows: Any) -> list[Piece]:
            if column.null_count and (rows is None or valid(column)[rows].sum() < rows.sum()):
                raise UnsuitedError
            return make(column, rows)

        return pieces

    def _headed(self, head: int, make: Make) -> Make:
        def pieces(column: Any, rows: Any) -> list[Piece]:
            return [constant_block(bytes([2 * head]), len(column), rows), *make(column, rows)]

        return pieces

    def _optional(self, schema: Schema, head: int, null: int, make: Make) -> Make:
        """Return an encoder of an optional value: the number of its branch, and the value if it is not null."""

        def pieces(column: Any, rows: Any) -> list[Piece]:
            if not column.null_count:
                return [constant_block(bytes([2 * head]), len(column), rows), *make(column, rows)]
            present = valid(column)
            heads = np.where(present, np.uint8(2 * head), np.uint8(2 * null))
            return [byte_block(heads, rows), *make(column, present if rows is None else present & rows)]

        return pieces

    def _with_default(self, schema: Schema, column: Any) -> Any:
        """Replace nulls by the default, as Java's structs do."""
        if not column.null_count or schema.default is None or self._settings.ignore_default_for_nullables:
            return column
        if not schema.type.is_primitive:
            raise UnsuitedError
        return pc.fill_null(column, values_to_column(schema, [schema.default])[0])

    def _value(self, schema: Schema, own: AvroType, target: AvroType) -> Make:
        """Return an encoder of values; the content of null rows is ignored."""
        if own.kind != target.kind:
            raise UnsuitedError
        if schema.type is Type.STRUCT:
            return self._struct(schema, own, target)
        if schema.type is Type.ARRAY:
            return self._array(schema, own, target)
        if schema.type is Type.MAP:
            return self._map(schema, own, target)
        if target.kind == "enum":
            return _enum(target)
        return _scalar(schema, target)

    def _struct(self, schema: Schema, own: AvroType, target: AvroType) -> Make:
        numbers = {each.name: number for number, each in enumerate(own.fields)}
        if [*numbers] != an.field_names(schema, self._settings.scrub_invalid_names):
            raise UnsuitedError  # the record of this name belongs to another struct
        parts: list[tuple[int, Schema, Make]] = []
        for each in target.fields:
            number = numbers.get(each.name)
            if number is None:
                raise UnsuitedError
            inner = schema.fields[number].schema
            parts.append((number, inner, self._part(inner, own.fields[number].type, each.type)))

        def pieces(column: Any, rows: Any) -> list[Piece]:
            columns = [self._with_default(inner, column.field(number)) for number, inner, _ in parts]
            return [piece for each, (_, _, make) in zip(columns, parts) for piece in make(each, rows)]

        return pieces

    def _array(self, schema: Schema, own: AvroType, target: AvroType) -> Make:
        make = self._part(schema.value_schema, own.items, target.items)

        def pieces(column: Any, rows: Any) -> list[Piece]:
            offsets = _offsets(column, rows)
            items = column.values.slice(offsets[0], offsets[-1] - offsets[0])
            return _items(offsets, make(items, None), rows)

        return pieces

    def _map(self, schema: Schema, own: AvroType, target: AvroType) -> Make:
        if is_plain_map(schema, self._settings):
            make_key: Make = _text
            make_item = self._part(schema.value_schema, own.items, target.items)
        else:
            make_key, make_item = self._entry(schema, own, target)

        def pieces(column: Any, rows: Any) -> list[Piece]:
            offsets = _offsets(column, rows)
            keys, items = [each.slice(offsets[0], offsets[-1] - offsets[0]) for each in (column.keys, column.items)]
            if make_key is _text and (order := _hash_order(offsets - offsets[0], keys)) is not None:
                keys, items = keys.take(order), items.take(order)
            return _items(offsets, [*make_key(keys, None), *make_item(items, None)], rows)

        return pieces

    def _entry(self, schema: Schema, own: AvroType, target: AvroType) -> list[Make]:
        """Return an encoder of the keys and values of a map that is an array of records."""
        if [each.name for each in target.items.fields] != ["key", "value"]:
            raise UnsuitedError
        parts = zip((schema.key_schema, schema.value_schema), own.items.fields, target.items.fields)
        return [self._part(inner, written.type, wanted.type) for inner, written, wanted in parts]


def long_block(values: Any, rows: Any) -> Block:
    """Return the block of Avro-encoded numbers from a numpy array of integers."""
    wide = values.astype(_LONG)
    return varint_block(((wide << 1) ^ (wide >> 63)).view(np.uint64), rows)


def _present(own: AvroType) -> AvroType:
    return next(each for each in own.branches if each.kind != "null") if own.kind == "union" else own


def _scalar(schema: Schema, target: AvroType) -> Make:
    if schema.name == Decimal.LOGICAL_NAME and target.kind != "bytes":
        raise UnsuitedError
    if schema.type in _INTEGERS:
        return _integers
    if schema.type is Type.BOOLEAN:
        return _booleans
    if target.kind in _WIDTH:
        return _floats(*_WIDTH[target.kind])
    if target.kind == "fixed":
        return _fixed(target.size)
    return _decimals if schema.name == Decimal.LOGICAL_NAME else _text


def _integers(column: Any, rows: Any) -> list[Piece]:
    return [long_block(numbers_of(column), rows)]


def _booleans(column: Any, rows: Any) -> list[Piece]:
    return [byte_block(numbers_of(column.cast(pa.uint8())), rows)]


def _floats(dtype: str, width: int) -> Make:
    def pieces(column: Any, rows: Any) -> list[Piece]:
        numbers = np.ascontiguousarray(numbers_of(column), dtype)
        return [matrix_block(numbers.view(np.uint8).reshape(-1, width), rows)]

    return pieces


def _text(column: Any, rows: Any) -> list[Piece]:
    """Return the pieces of strings or bytes: lengths and contents."""
    column, sizes = contents_of(column, rows)
    return [long_block(sizes, rows), column]


def _raw(make: Make) -> Make:
    """Return an encoder of bytes without a length prefix."""

    def pieces(column: Any, rows: Any) -> list[Piece]:
        if column.null_count:
            raise UnsuitedError
        return make(column, rows)[1:]

    return pieces


def _decimals(column: Any, rows: Any) -> list[Piece]:
    """Return the pieces of unscaled numbers in minimal encoding."""
    column, sizes = contents_of(column, rows)
    content, offsets = memory(column)
    starts = offsets[:-1][sizes > 1]
    first, second = content[starts], content[starts + 1] >= 0x80
    if (sizes[rows] if rows is not None else sizes).min(initial=1) < 1:
        raise UnsuitedError
    if (((first == 0) & ~second) | ((first == 0xFF) & second)).any():
        raise UnsuitedError
    return [long_block(sizes, rows), column]


def _fixed(size: int) -> Make:
    def pieces(column: Any, rows: Any) -> list[Piece]:
        column, sizes = contents_of(column, rows)
        if ((sizes if rows is None else sizes[rows]) != size).any():
            raise UnsuitedError
        return [column]

    return pieces


def _enum(target: AvroType) -> Make:
    symbols = pa.array(target.symbols, pa.string())

    def pieces(column: Any, rows: Any) -> list[Piece]:
        numbers = pc.index_in(column, symbols)
        if numbers.null_count and (rows is None or valid(numbers)[rows].sum() < rows.sum()):
            raise UnsuitedError
        return [long_block(numbers_of(numbers), valid(numbers) if rows is None and numbers.null_count else rows)]

    return pieces


def _offsets(column: Any, rows: Any) -> Any:
    """Return the start and end of each row's items; null rows have none."""
    offsets = column.offsets.to_numpy().astype(_LONG)
    if rows is not None and np.diff(offsets)[~rows].any():
        raise UnsuitedError
    return offsets


def _items(offsets: Any, pieces: list[Piece], rows: Any) -> list[Piece]:
    """Return the pieces of lists: the item count, the items and a zero; an empty list is a single zero."""
    counts = np.diff(offsets)
    items = joined(pieces, int(offsets[-1] - offsets[0]))
    content, ends = memory(items)
    if len(ends) == 1:
        return [constant_block(b"\0", len(counts), rows)]
    return [
        long_block(counts, counts > 0),
        binary_of(ends[offsets - offsets[0]], content),
        constant_block(b"\0", len(counts), rows),
    ]


def _hash_order(offsets: Any, keys: Any) -> Any:
    """Return the order of entries in Java's HashMap; None if they have it already."""
    many = np.flatnonzero(np.diff(offsets) > 1).tolist()
    if not many:
        return None
    order, names = np.arange(len(keys)), keys.to_pylist()
    for row in many:
        start, end = int(offsets[row]), int(offsets[row + 1])
        places = {name: start + number for number, name in enumerate(names[start:end])}
        if len(places) < end - start:
            raise UnsuitedError
        order[start:end] = list(hash_ordered(places).values())
    return pa.array(order)
