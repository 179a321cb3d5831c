"""Encodes columns as Protobuf messages, all rows at once, with the same bytes as the plain form.

An unset field has no bytes in its row. Unsupported values (decimals of many digits, nulls in lists), and values that
the plain form would refuse, are left to the plain form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Date, Decimal, Schema, Time, Timestamp, Type, is_logical
from hearth_api.batch import values_to_column
from hearth_api.layout import are_few, memory
from hearth_registry import proto_known as known
from hearth_registry import proto_schema_writer as word
from hearth_registry.payload_block import (
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
from hearth_registry.proto_file import REPEATED, ProtoEnum, ProtoField, ProtoMessage
from hearth_registry.proto_value_writer import ProtoValueWriter, checked
from hearth_registry.proto_wire import LENGTH, SCALARS, VARINT, varint
from hearth_registry.protobuf_setting import ProtobufSettings

_FIXED = {"double": "<f8", "float": "<f4", "fixed32": "<u4", "sfixed32": "<i4", "fixed64": "<i8", "sfixed64": "<i8"}
_LOGICAL = (Date.LOGICAL_NAME, Time.LOGICAL_NAME, Timestamp.LOGICAL_NAME)
_LOW = np.uint64(0xFFFF_FFFF)
_NEGATIVE = 0xFFFF_FFFF_FFFF_FFFF
_LONGEST = 8
_POWERS = np.array([10**power for power in range(19)], np.int64)


class ProtoColumnWriter:
    """Writes columns of a Connect schema as a message type."""

    _make: Make | None

    def __init__(self, settings: ProtobufSettings, schema: Schema, message: ProtoMessage) -> None:
        """Select a writer for each part of the schema, if it is supported."""
        self._settings = settings
        self._plain = ProtoValueWriter(settings)
        try:
            self._make = self._inner(schema, message)
        except UnsuitedError:
            self._make = None

    def payloads(self, column: Any, prefix: bytes) -> Any:
        """Return the payloads of a column without nulls, each after the prefix, or `NotImplemented`."""
        if self._make is None or column.null_count or are_few(len(column)):
            return NotImplemented
        try:
            return joined([constant_block(prefix, len(column), None), *self._make(column, None)], len(column))
        except UnsuitedError:
            return NotImplemented

    def _message(self, schema: Schema, message: ProtoMessage) -> Make:
        """Return an encoder of a message's fields; the content of null rows is ignored."""
        parts: list[tuple[int, int, Schema, Make]] = []
        for each in schema.fields:
            if word.is_union(each.schema):
                members = self._members(each.schema, message)
                parts += [(number, each.index, each.schema, make) for number, make in members]
            else:
                target = self._plain.target(message, each.name)
                parts.append((target.number, each.index, each.schema, self._field(each.schema, target)))
        parts.sort(key=lambda part: part[0])

        def pieces(column: Any, rows: Any) -> list[Piece]:
            found: list[Piece] = []
            for _, index, inner, make in parts:
                child = self._with_default(inner, column.field(index))
                found += make(child, _present(child, rows))
            return found

        return pieces

    def _members(self, union: Schema, message: ProtoMessage) -> Iterator[tuple[int, Make]]:
        """Return an encoder of a oneof, which writes its first non-null member."""
        if any(each.schema.default is not None for each in union.fields):
            raise UnsuitedError
        for each in union.fields:
            target = self._plain.target(message, each.name)
            yield target.number, _member(each.index, self._field(each.schema, target))

    def _with_default(self, schema: Schema, column: Any) -> Any:
        """Replace nulls by the default, as Java's structs do."""
        if not column.null_count or schema.default is None or self._settings.ignore_default_for_nullables:
            return column
        if not schema.type.is_primitive:
            raise UnsuitedError
        return pc.fill_null(column, values_to_column(schema, [schema.default])[0])

    def _field(self, schema: Schema, target: ProtoField) -> Make:
        """Return an encoder of a field with its key, in the rows where it is written."""
        if schema.type is Type.ARRAY:
            return self._array(schema, target)
        if schema.type is Type.MAP:
            return self._map(schema, target)
        if target.label == REPEATED:
            raise UnsuitedError
        kind = target.kind
        if isinstance(kind, ProtoMessage):
            return _as_message(target.number, self._inner(schema, kind))
        if isinstance(kind, ProtoEnum):
            return _headed(target, _enum(kind))
        return _headed(target, _scalar(schema, kind))

    def _inner(self, schema: Schema, message: ProtoMessage) -> Make:
        if schema.name == Decimal.LOGICAL_NAME:
            return _decimals(Decimal.scale(schema))
        if schema.name in _LOGICAL:
            return _LOGICAL_MAKES[message.full_name]
        if schema.type is Type.STRUCT:
            return self._message(schema, message)
        if message.full_name in known.WRAPPED:
            return self._wrapped(schema, message)
        raise UnsuitedError

    def _wrapped(self, schema: Schema, message: ProtoMessage) -> Make:
        return self._field(schema, word.wrapper_in(schema, message).fields[0])

    def _array(self, schema: Schema, target: ProtoField) -> Make:
        items = schema.value_schema
        if items is None or target.label != REPEATED or not (items.type.is_primitive or items.type is Type.STRUCT):
            raise UnsuitedError
        kind = target.kind
        if isinstance(kind, ProtoMessage):
            return _listed(_as_message(target.number, self._inner(items, kind)))
        wire, make = _enum(kind) if isinstance(kind, ProtoEnum) else _scalar(items, kind)
        if target.is_packed and wire != LENGTH:
            return _as_message(target.number, _listed(make), is_left_out=True)
        key = varint(target.number << 3 | wire)
        return _listed(lambda column, rows: [constant_block(key, len(column), rows), *make(column, rows)])

    def _map(self, schema: Schema, target: ProtoField) -> Make:
        entry = target.kind
        keys, values = schema.key_schema, schema.value_schema
        if not isinstance(entry, ProtoMessage) or keys is None or values is None:
            raise UnsuitedError
        make_key = self._field(keys, self._plain.target(entry, "key"))
        make_value = self._field(values, self._plain.target(entry, "value"))

        def entries(column: Any, rows: Any) -> list[Piece]:
            key, value = column.field(0), column.field(1)
            return [*make_key(key, _present(key, rows)), *make_value(value, _present(value, rows))]

        return _listed(_as_message(target.number, entries), is_map=True)


def _member(index: int, make: Make) -> Make:
    """Return an encoder of a oneof member in the rows where it is the first one set."""

    def pieces(column: Any, rows: Any) -> list[Piece]:
        present = [valid(column.field(number)) for number in range(column.type.num_fields)]
        is_set = np.any(present, axis=0)
        if not (is_set if rows is None else is_set | ~rows).all():
            raise UnsuitedError
        chosen = present[index] & ~np.any([np.zeros(len(column), bool), *present[:index]], axis=0)
        return make(column.field(index), chosen if rows is None else chosen & rows)

    return pieces


def _present(column: Any, rows: Any) -> Any:
    """Return the mask of rows with a value, None if all have one."""
    if not column.null_count:
        return rows
    return valid(column) if rows is None else valid(column) & rows


def _headed(target: ProtoField, made: tuple[int, Make]) -> Make:
    """Return an encoder that adds a field's key and omits default values."""
    wire, make = made
    key = varint(target.number << 3 | wire)
    has_presence = target.has_presence

    def pieces(column: Any, rows: Any) -> list[Piece]:
        mask = rows if has_presence else _not_default(column, rows, target)
        return [constant_block(key, len(column), mask), *make(column, mask)]

    return pieces


def _not_default(column: Any, rows: Any, target: ProtoField) -> Any:
    """Return the mask of rows whose value is not the type's default."""
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        if isinstance(target.kind, ProtoEnum):
            first = target.kind.values[0][0] if target.kind.values else ""
            mask = pc.fill_null(pc.not_equal(column, pa.scalar(first, column.type)), False)
            mask = mask.to_numpy(zero_copy_only=False)
        else:
            mask = np.diff(column_offsets(column)) > 0
    elif pa.types.is_boolean(column.type):
        mask = numbers_of(column.cast(pa.uint8())) != 0
    else:
        values = numbers_of(column)
        mask = values != 0
        if values.dtype.kind == "f":
            mask = mask | np.signbit(values)
        elif isinstance(target.kind, ProtoEnum):
            mask = values != (target.kind.values[0][1] if target.kind.values else 0)
    if rows is not None:
        mask = mask & rows
    return None if mask.all() else mask


def column_offsets(column: Any) -> Any:
    """Return the start and end offsets of a column's strings."""
    _, offsets, _ = column.buffers()
    if offsets is None:
        return np.zeros(len(column) + 1, np.int64)
    return np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4).astype(np.int64)


def _scalar(schema: Schema, kind: str) -> tuple[int, Make]:
    wire, encode, _ = SCALARS[kind]
    checked(schema, kind, encode)
    if is_logical(schema):
        raise UnsuitedError
    if kind in _FIXED:
        return wire, _fixed(np.dtype(_FIXED[kind]))
    if kind == "bool":
        return wire, lambda column, rows: [byte_block(numbers_of(column.cast(pa.uint8())), rows)]
    return wire, _texts if wire == LENGTH else _varints(kind)


def _varints(kind: str) -> Make:
    def pieces(column: Any, rows: Any) -> list[Piece]:
        wide = numbers_of(column).astype(np.int64)
        if kind in ("int32", "sint32"):
            wide = wide.astype(np.int32).astype(np.int64)
        if kind in ("sint32", "sint64"):
            wide = (wide << 1) ^ (wide >> 63)
        rest = wide.view(np.uint64)
        return [varint_block(rest & _LOW if kind in ("uint32", "sint32") else rest, rows)]

    return pieces


def _fixed(dtype: Any) -> Make:
    def pieces(column: Any, rows: Any) -> list[Piece]:
        numbers = np.ascontiguousarray(numbers_of(column).astype(dtype))
        return [matrix_block(numbers.view(np.uint8).reshape(-1, dtype.itemsize), rows)]

    return pieces


def _texts(column: Any, rows: Any) -> list[Piece]:
    column, sizes = contents_of(column, rows)
    return [varint_block(sizes.astype(np.uint64), rows), column]


def _enum(enum: ProtoEnum) -> tuple[int, Make]:
    symbols = pa.array([name for name, _ in enum.values], pa.string())
    numbers = np.array([number for _, number in enum.values], np.int64)

    def pieces(column: Any, rows: Any) -> list[Piece]:
        if not pa.types.is_string(column.type):
            return [varint_block(numbers_of(column).astype(np.int64).view(np.uint64), rows)]
        places = pc.index_in(column, symbols)
        if places.null_count and (rows is None or (~valid(places))[rows].any()):
            raise UnsuitedError
        found = numbers.take(pc.fill_null(places, 0).to_numpy(), mode="clip")
        return [varint_block(found.view(np.uint64), rows)]

    return VARINT, pieces


def _as_message(number: int, make: Make, is_left_out: bool = False) -> Make:
    """Return an encoder that adds key and length to the pieces, and omits empty ones if requested."""
    key = varint(number << 3 | LENGTH)

    def pieces(column: Any, rows: Any) -> list[Piece]:
        content = joined(make(column, rows), len(column))
        content, sizes = contents_of(content, rows)
        mask = rows
        if is_left_out:
            mask = sizes > 0 if rows is None else (sizes > 0) & rows
        head = [constant_block(key, len(column), mask), varint_block(sizes.astype(np.uint64), mask)]
        return [*head, content]

    return pieces


def _listed(make: Make, is_map: bool = False) -> Make:
    """Return an encoder that concatenates the pieces of a list's items or a map's entries."""

    def pieces(column: Any, rows: Any) -> list[Piece]:
        offsets = column.offsets.to_numpy().astype(np.int64)
        if rows is not None and np.diff(offsets)[~rows].any():
            raise UnsuitedError
        first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
        if is_map:
            parts = [each.slice(first, count) for each in (column.keys, column.items)]
            items = pa.StructArray.from_arrays(parts, ["key", "value"])
        else:
            items = column.values.slice(first, count)
        if not is_map and items.null_count:
            raise UnsuitedError
        content = joined(make(items, None), count)
        ends = column_offsets(content)
        _, _, data = content.buffers()
        found = np.frombuffer(data or b"", np.uint8)
        return [binary_of(ends[offsets - first], found)]

    return pieces


def _whole(*columns: Any) -> list[Piece]:
    """Return the pieces of a message whose fields, starting at 1, are integers; zeros are omitted."""
    return [
        piece
        for number, (values, rows) in enumerate(columns, 1)
        for mask in [values != 0 if rows is None else (values != 0) & rows]
        for piece in (
            constant_block(bytes([number << 3]), len(values), mask),
            varint_block(values.astype(np.int64).view(np.uint64), mask),
        )
    ]


def _dates(column: Any, rows: Any) -> list[Piece]:
    days = pa.array(numbers_of(column)).cast(pa.int32()).view(pa.date32())
    parts = [part(days).to_numpy() for part in (pc.year, pc.month, pc.day)]
    return _whole(*[(part, rows) for part in parts])


def _times(column: Any, rows: Any) -> list[Piece]:
    millis = numbers_of(column).astype(np.int64)
    seconds = millis // 1000
    parts = (seconds // 3600, seconds // 60 % 60, seconds % 60, millis % 1000 * 1_000_000)
    return _whole(*[(part, rows) for part in parts])


def _timestamps(column: Any, rows: Any) -> list[Piece]:
    millis = numbers_of(column).astype(np.int64)
    return _whole((millis // 1000, rows), (millis % 1000 * 1_000_000, rows))


def _decimals(scale: int) -> Make:
    """Return an encoder of decimals of up to 18 digits, with minimal unscaled numbers."""
    suffix = b"" if scale == 0 else b"\x18" + varint(scale & _NEGATIVE)

    def pieces(column: Any, rows: Any) -> list[Piece]:
        column, sizes = contents_of(column, rows)
        numbers = _unscaled(column, sizes if rows is None else np.where(rows, sizes, 1))
        precision = np.maximum(np.searchsorted(_POWERS, np.abs(numbers), side="right"), 1)
        length = len(column)
        return [
            constant_block(b"\x0a", length, rows), varint_block(sizes.astype(np.uint64), rows), column,
            constant_block(b"\x10", length, rows), varint_block(precision.astype(np.uint64), rows),
            constant_block(suffix, length, rows),
        ]  # fmt: skip

    return pieces


def _unscaled(column: Any, sizes: Any) -> Any:
    """Return the integers of big-endian bytes."""
    content, offsets = memory(column)
    content = np.append(content, np.zeros(_LONGEST, np.uint8))
    starts = offsets[:-1]
    first, second = content[starts], content[starts + 1] >= 0x80
    is_longer = (sizes > 1) & (((first == 0) & ~second) | ((first == 0xFF) & second))
    if is_longer.any() or sizes.min(initial=1) < 1 or sizes.max(initial=1) >= _LONGEST:
        raise UnsuitedError
    numbers = np.where(first >= 0x80, np.int64(-1), np.int64(0))
    for place in range(int(sizes.max(initial=0))):
        longer = (numbers << 8) | content[starts + place]
        numbers = np.where(sizes > place, longer, numbers)
    return numbers


_LOGICAL_MAKES: dict[str, Make] = {known.DATE: _dates, known.TIME: _times, known.TIMESTAMP: _timestamps}
