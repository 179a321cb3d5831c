"""Casts columns of records to the types of Delta, and to the columns of a table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hearth_api import DataError

_WHOLE = ("int8", "int16", "int32", "int64")


def delta_type(kind: Any, name: str) -> Any:
    """Return the type of Delta, as Arrow has it, for a type of `Batch.to_table`.

    A time of day is an integer of milliseconds, since Delta has no such type. Parts are nullable. Raises DataError for
    what Delta cannot hold; `name` is that of the column.
    """
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([pa.field(each.name, delta_type(each.type, f"{name}.{each.name}")) for each in kind])
    if types.is_map(kind):
        return pa.map_(delta_type(kind.key_type, f"{name}.key"), delta_type(kind.item_type, f"{name}.value"))
    if types.is_list(kind):
        return pa.list_(delta_type(kind.value_type, f"{name}[]"))
    if types.is_time(kind):
        return pa.int32()
    if types.is_timestamp(kind):
        return pa.timestamp("us", "UTC")
    if types.is_decimal256(kind):
        raise DataError(
            f"column {name} is {kind}, and a decimal of Delta has at most 38 digits",
            hint="set the parameter connect.decimal.precision of its schema, or cast it",
        )
    return kind


def columns_of(table: Any) -> Any:
    """Return a table of records with the types of Delta; raises DataError for what Delta cannot hold."""
    fields = [pa.field(each.name, delta_type(each.type, each.name)) for each in table.schema]
    twice = _twice([each.name.lower() for each in fields])
    if twice:
        raise DataError(f"two fields are named {twice}, and names of columns do not differ by case alone in Delta")
    arrays = [_cast(array, field.type, field.name) for array, field in zip(table.columns, fields)]
    return pa.table(arrays, schema=pa.schema(fields))


def _twice(names: list[str]) -> str | None:
    return next((name for name in names if names.count(name) > 1), None)


def missing_fields(given: Any, known: Any) -> list[Any]:
    """Return the fields of a schema that another lacks; a struct that lacks fields within is among them."""
    found = []
    for field in given:
        index = position_of(known, field.name)
        if index is None:
            found.append(field)
            continue
        have = known.field(index)
        if pa.types.is_struct(field.type) and pa.types.is_struct(have.type):
            inner = missing_fields(field.type, have.type)
            if inner:
                found.append(pa.field(have.name, pa.struct(inner)))
    return found


def position_of(fields: Any, name: str) -> int | None:
    """Return the position of a field by its name, in any case of its letters; None if there is none."""
    names = [each.name for each in fields]
    if name in names:
        return names.index(name)
    return next((place for place, each in enumerate(names) if each.lower() == name.lower()), None)


def fitted(table: Any, schema: Any) -> Any:
    """Return a table with the columns of a schema, in its order; null where the table lacks one.

    Raises DataError for a column whose type is narrower there, and for a value that does not fit.
    """
    rows = table.num_rows
    arrays = []
    for field in schema:
        index = position_of(table.schema, field.name)
        array = pa.nulls(rows, field.type) if index is None else _fitted(table.column(index), field.type, field.name)
        if array.null_count and not field.nullable:
            raise DataError(f"column {field.name} is null in a record, and NOT NULL in the table")
        arrays.append(array)
    return pa.table(arrays, schema=schema)


def _fitted(column: Any, kind: Any, name: str) -> Any:
    if column.type == kind:
        return column
    if isinstance(column, pa.ChunkedArray):
        chunks = [_fitted(chunk, kind, name) for chunk in column.chunks]
        return pa.chunked_array(chunks, kind)
    if pa.types.is_struct(kind) and pa.types.is_struct(column.type):
        arrays = []
        for field in kind:
            index = position_of(column.type, field.name)
            inner = f"{name}.{field.name}"
            arrays.append(
                pa.nulls(len(column), field.type) if index is None else _fitted(column.field(index), field.type, inner)
            )
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=column.is_null())
    if not _is_wider(kind, column.type):
        raise DataError(
            f"field {name} is {column.type}, and the column of the table is {kind}",
            hint="cast the field, or change the column's type",
        )
    return _cast(column, kind, name)


def _is_wider(wide: Any, narrow: Any) -> bool:
    """Return whether a column of one type holds values of another, as far as the types tell."""
    types = pa.types
    if str(narrow) in _WHOLE and str(wide) in _WHOLE:
        return bool(wide.bit_width >= narrow.bit_width)
    if types.is_floating(narrow) and types.is_floating(wide):
        return bool(wide.bit_width >= narrow.bit_width)
    if types.is_decimal(narrow) and types.is_decimal(wide):
        return bool(wide.scale >= narrow.scale)  # digits are checked value by value
    for is_kind in (types.is_timestamp, _is_text, _is_binary):
        if is_kind(narrow) and is_kind(wide):
            return True
    if types.is_list(narrow) and types.is_list(wide):
        return wide.value_type == narrow.value_type or _is_wider(wide.value_type, narrow.value_type)
    if types.is_map(narrow) and types.is_map(wide):
        pairs = ((wide.key_type, narrow.key_type), (wide.item_type, narrow.item_type))
        return all(one == other or _is_wider(one, other) for one, other in pairs)
    return False


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_binary(kind: Any) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _cast(column: Any, kind: Any, name: str) -> Any:
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowException as error:
        raise DataError(f"a value of field {name} does not fit {kind}: {error}") from error
