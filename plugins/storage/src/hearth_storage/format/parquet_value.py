"""Brings columns as Arrow reads them from Parquet to the columns of a Connect schema."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hearth_api import DataError, Schema, Type
from hearth_api.batch import TableColumn, arrow_type, list_form, map_form, struct_form


def table_column(schema: Schema | None, kind: Any) -> TableColumn | None:
    """Return the conversion of an Arrow type to a Connect schema; None if it cannot hold the type's values."""
    if schema is None:
        return None
    if schema.type is Type.STRUCT:
        return _struct(schema, kind)
    if schema.type is Type.ARRAY:
        return _list(schema, kind)
    if schema.type is Type.MAP:
        return _map(schema, kind)
    try:
        found = TableColumn.of(kind, "").convert
    except DataError:
        return None
    wanted = arrow_type(schema)
    return TableColumn(schema, lambda column: _cast(found(column), wanted))


def _struct(schema: Schema, kind: Any) -> TableColumn | None:
    if not pa.types.is_struct(kind) or kind.num_fields != len(schema.fields):
        return None
    parts = [table_column(each.schema, kind.field(each.index).type) for each in schema.fields]
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    return TableColumn(schema, struct_form([each.name for each in schema.fields], known)[1])


def _list(schema: Schema, kind: Any) -> TableColumn | None:
    item = table_column(schema.value_schema, kind.value_type) if pa.types.is_list(kind) else None
    return None if item is None else TableColumn(schema, list_form(item)[1])


def _map(schema: Schema, kind: Any) -> TableColumn | None:
    """Return the conversion of a map, or of the list of structs that holds a map without string keys."""
    if pa.types.is_map(kind):
        types = [kind.key_type, kind.item_type]
    elif pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) and kind.value_type.num_fields == 2:
        types = [each.type for each in kind.value_type]
    else:
        return None
    key, value = table_column(schema.key_schema, types[0]), table_column(schema.value_schema, types[1])
    if key is None or value is None:
        return None
    convert = map_form(key, value)[1]
    if pa.types.is_map(kind):
        return TableColumn(schema, convert)
    return TableColumn(schema, lambda column: convert(_as_map(column)))


def _as_map(column: Any) -> Any:
    """Return a list of pairs as a map of the same memory."""
    first, second = column.values.field(0), column.values.field(1)
    entries = [pa.field("key", first.type, nullable=False), pa.field("value", second.type)]
    pairs = pa.StructArray.from_arrays([first, second], fields=entries)
    kind = pa.map_(first.type, second.type)
    return pa.Array.from_buffers(kind, len(column), column.buffers()[:2], column.null_count, column.offset, [pairs])


def _cast(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind)
