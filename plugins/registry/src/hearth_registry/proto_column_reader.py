"""Decodes Protobuf messages to columns, all rows at once, with the same values as the plain form.

Writers emit fields in number order. So each row has a cursor that passes the fields in that order if they are present.
Anything else in a row (maps, unknown fields, fields in another order) stops its cursor before the end. The plain form
reads such rows, uncertain values and errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Field, Schema, Type, is_logical
from hearth_api.batch import arrow_type, values_to_column
from hearth_api.layout import are_few, memory
from hearth_registry import proto_known as known
from hearth_registry.payload_block import UnsuitedError, valid
from hearth_registry.payload_cursor import Rows, Source, scattered
from hearth_registry.proto_cell import LOGICAL, Cells, Read, begins, default_of, enum_symbols, lengths, scalar
from hearth_registry.proto_file import REPEATED, REQUIRED, ProtoEnum, ProtoField, ProtoFile, ProtoMessage
from hearth_registry.proto_schema_reader import has_null, is_map, union_names
from hearth_registry.proto_wire import LENGTH, varint
from hearth_registry.protobuf_setting import ProtobufSettings

_FEW_ROUNDS, _MANY_ROWS = 4, 64
"""Rounds, in which one item of each row is read, before a round requires a minimum number of rows."""
_MOST_LEVELS = 2
"""Maximum nesting of lists in the column form, since the rounds multiply."""
_Place = tuple[int, "int | None"]
"""The index of a field in its struct, and of a member in its oneof's struct."""


class ProtoColumnReader:
    """Reads columns of payloads of one message type."""

    def __init__(
        self,
        file: ProtoFile,
        settings: ProtobufSettings,
        schema: Schema,
        message: ProtoMessage,
        plain: Callable[[bytes], Any],
    ) -> None:
        """Select a reader for each part of the schema, if it is supported; `plain` reads the other rows."""
        self._file, self._settings, self._schema, self._plain = file, settings, schema, plain
        self._level = 0
        self._read: Read | None = None
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
        cells = Cells(Rows(Source(content), offsets[:-1].copy()), offsets[1:])
        column = self._read(cells)
        if cells.sure.all():
            return column
        rows = np.flatnonzero(~cells.sure)
        values = [self._plain(payload) for payload in payloads.take(pa.array(rows)).to_pylist()]
        others = values_to_column(self._schema, values)
        places = np.arange(len(payloads))
        places[rows] = len(payloads) + np.arange(len(rows))
        return pa.concat_arrays([column, others]).take(pa.array(places))

    def _message(self, schema: Schema, message: ProtoMessage) -> Read:
        """Return a reader of messages as a column of structs, which marks the uncertain rows."""
        if any(each.label == REQUIRED or each.default is not None for each in message.fields):
            raise UnsuitedError
        reads: list[tuple[int, _Place, Read]] = []
        absent: dict[int, Any] = {}
        oneofs = {} if self._settings.flatten_unions else union_names(message, self._settings)
        unions = {name for name in oneofs.values() if message.find(name) is None}
        for field in schema.fields:
            target = message.find(field.name)
            is_list = target is not None and target.label == REPEATED and not is_map(target)
            is_too_deep = is_list and self._level == _MOST_LEVELS
            if target is not None and target.oneof is None and not is_map(target) and not is_too_deep:
                read = self._list(field.schema, target) if is_list else self._field(field.schema, target)
                reads.append((target.number, (field.index, None), read))
            elif field.name in unions:
                reads += self._members(field, message)
            else:
                # A row with one of these is left to the plain form.
                empty: Any = {} if field.schema.type is Type.MAP else [] if is_list else None
                absent[field.index] = values_to_column(field.schema, [empty])
        reads.sort(key=lambda part: part[0])
        return _struct(schema, [(place, read) for _, place, read in reads], absent)

    def _members(self, union: Field, message: ProtoMessage) -> Iterator[tuple[int, _Place, Read]]:
        """Return a reader of the members of a oneof."""
        for member in union.schema.fields:
            target = message.find(member.name)
            if target is None:
                raise UnsuitedError
            yield target.number, (union.index, member.index), self._field(member.schema, target)

    def _field(self, schema: Schema, each: ProtoField) -> Read:
        """Return a reader of a field that returns the default or null if it is not set."""
        wire, take = self._take(schema, each)
        type_, default = arrow_type(schema), None
        is_null = each.oneof is not None or has_null(each, self._file, self._settings)
        if not isinstance(each.kind, ProtoMessage) and not is_null:
            default = default_of(each.kind, schema)
        key = varint(each.number << 3 | wire)

        def read(cells: Cells) -> Any:
            there = begins(cells, key)
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

    def _take(self, schema: Schema, each: ProtoField) -> tuple[int, Read]:
        """Return the wire type of a field and the reader of its content."""
        kind = each.kind
        if isinstance(kind, ProtoMessage):
            return LENGTH, self._inner(schema, kind)
        return enum_symbols(kind, schema) if isinstance(kind, ProtoEnum) else scalar(kind, schema)

    def _list(self, schema: Schema, each: ProtoField) -> Read:
        """Return a reader of a repeated field, including packed numbers."""
        items = schema.value_schema
        if items is None:
            raise UnsuitedError
        self._level += 1
        wire, take = self._take(items, each)
        self._level -= 1
        key, packed_key = (varint(each.number << 3 | each_wire) for each_wire in (wire, LENGTH))
        type_ = arrow_type(schema)

        def read(cells: Cells) -> Any:
            found = _Items(len(cells))
            found.add_all(cells, np.arange(len(cells)), lambda rows: begins(rows, key), take, len(key))
            there = begins(cells, packed_key)
            if wire != LENGTH and there.any():
                some = cells.part(there)
                some.rows.at = some.rows.at + len(packed_key)
                starts, ends = lengths(some)
                inner = Cells(Rows(some.rows.source, starts), ends)
                found.add_all(inner, np.flatnonzero(there), lambda rows: rows.rows.at < rows.ends, take, 0)
                some.sure &= inner.sure & (inner.rows.at == ends)
                some.rows.at = ends
                cells.join(there, some)
            return found.column(type_)

        return read

    def _inner(self, schema: Schema, message: ProtoMessage) -> Read:
        """Return a reader of a nested message, after its key."""
        if is_logical(schema):
            take = LOGICAL[message.full_name](schema)
        elif schema.type is Type.STRUCT:
            take = self._message(schema, message)
        elif message.full_name in known.WRAPPED:
            take = self._field(schema, message.fields[0])
        else:
            raise UnsuitedError

        def read(cells: Cells) -> Any:
            starts, ends = lengths(cells)
            inner = Cells(Rows(cells.rows.source, starts), ends)
            column = take(inner)
            cells.sure &= inner.sure & (inner.rows.at == ends)
            cells.rows.at = ends
            return column

        return read


class _Items:
    """Collects the items of lists in rounds, one item of each row at a time."""

    def __init__(self, length: int) -> None:
        self._counts = np.zeros(length, np.int64)
        self._parts: list[Any] = []
        self._places: list[tuple[Any, Any]] = []

    def add_all(self, cells: Cells, rows: Any, has: Callable[[Cells], Any], take: Read, skipped: int) -> None:
        """Read all items; `rows` has the row numbers of the cells, and `skipped` the bytes before an item.

        If few rows have many items, they are left to the plain form, which is as fast.
        """
        rounds = 0
        while (there := has(cells) & cells.sure).any():
            rounds += 1
            if rounds > _FEW_ROUNDS and np.count_nonzero(there) < min(rounds, _MANY_ROWS):
                cells.sure &= ~there
                return
            some = cells.part(there)
            some.rows.at = some.rows.at + skipped
            self._parts.append(take(some))
            cells.join(there, some)
            self._places.append((rows[there], self._counts[rows[there]]))
            self._counts[rows[there]] += 1

    def column(self, type_: Any) -> Any:
        """Return the items as lists."""
        ends = np.zeros(len(self._counts) + 1, np.int64)
        np.cumsum(self._counts, out=ends[1:])
        items = pa.array([], type_.value_type)
        if self._parts:
            order = np.empty(int(ends[-1]), np.int64)
            order[np.concatenate([ends[rows] + number for rows, number in self._places])] = np.arange(len(order))
            items = pa.concat_arrays(self._parts).take(pa.array(order))
        return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), items).cast(type_)


def _struct(schema: Schema, reads: list[tuple[_Place, Read]], absent: dict[int, Any]) -> Read:
    """Return a reader of parts in sequence that builds structs, and oneof structs from their members."""
    type_ = arrow_type(schema)

    def read(cells: Cells) -> Any:
        columns: list[Any] = [None] * len(schema.fields)
        members: dict[int, dict[int, Any]] = {}
        for (index, member), take in reads:
            if member is None:
                columns[index] = take(cells)
            else:
                members.setdefault(index, {})[member] = take(cells)
        for index, found in members.items():
            columns[index] = _union(cells, schema.fields[index].schema, found)
        for index, value in absent.items():
            columns[index] = value.take(pa.array(np.zeros(len(cells), np.int64)))
        cells.sure &= cells.rows.at == cells.ends
        if not columns:
            return pa.array([{}] * len(cells), type_)
        return pa.StructArray.from_arrays(columns, fields=list(type_))

    return read


def _union(cells: Cells, schema: Schema, members: dict[int, Any]) -> Any:
    """Return the members of a oneof as a struct, null if none is set; which of several came last is unknown."""
    columns = [members[index] for index in range(len(schema.fields))]
    counts = sum(valid(column).astype(np.int64) for column in columns)
    cells.sure &= counts <= 1
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type(schema)), mask=pa.array(counts == 0))
