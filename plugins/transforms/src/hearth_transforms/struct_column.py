"""Columns of structs: taken apart into the columns of their fields, checked, and put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearth_api import Field, Schema, Struct, Type, arrow_type, values_to_column


def field_column(column: Any, field: Field, with_default: bool) -> Any:
    """Return the values of a field: null where the struct is, the default where only the field is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    child = column.field(field.index)
    default = field.schema.default
    if with_default and default is not None and child.null_count:
        # The schema of a default struct is without that default, and so not quite that of the field.
        own_schema = default.schema if isinstance(default, Struct) else field.schema
        child = child.fill_null(values_to_column(own_schema, [default])[0])
    if not column.null_count:
        return child
    return pc.if_else(column.is_valid(), child, pa.scalar(None, child.type))


def field_columns(schema: Schema, column: Any, with_default: bool) -> list[Any] | None:
    """Return the values of all fields of structs; None where a new struct would not take one of them."""
    columns = [field_column(column, field, with_default) for field in schema.fields]
    fit = all(is_sound(field.schema, part) for field, part in zip(schema.fields, columns))
    return columns if fit else None


def struct_column(schema: Schema, columns: Sequence[Any]) -> Any:
    """Return structs of these fields, none of them null."""
    import pyarrow as pa

    return pa.StructArray.from_arrays(list(columns), fields=list(arrow_type(schema)))


def repeated(schema: Schema, value: Any, count: int) -> Any:
    """Return a column that holds one value in every row."""
    import numpy as np
    import pyarrow as pa

    return values_to_column(schema, [value]).take(pa.array(np.zeros(count, np.int64)))


def is_sound(schema: Schema, column: Any) -> bool:
    """Tell whether a struct would take all these values: nulls stand only where they may, inside values as well."""
    return (schema.optional or not column.null_count) and _is_sound_inside(schema, column)


def _is_sound_inside(schema: Schema, column: Any) -> bool:
    if schema.type.is_primitive or not len(column):
        return True
    present = column.drop_null()
    if schema.type is Type.STRUCT:
        return all(_is_sound_field(field.schema, present.field(field.index)) for field in schema.fields)
    first, last = present.offsets[0].as_py(), present.offsets[-1].as_py()
    if schema.type is Type.ARRAY:
        return _is_sound_part(schema.value_schema, present.values.slice(first, last - first))
    keys, items = present.keys.slice(first, last - first), present.items.slice(first, last - first)
    return _is_sound_part(schema.key_schema, keys) and _is_sound_part(schema.value_schema, items)


def _is_sound_field(schema: Schema, column: Any) -> bool:
    may_be_null = schema.optional or schema.default is not None
    return (may_be_null or not column.null_count) and _is_sound_inside(schema, column)


def _is_sound_part(schema: Schema | None, column: Any) -> bool:
    return schema is not None and is_sound(schema, column)
