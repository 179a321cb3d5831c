"""A field of structs by its path, such as `customer.country`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Schema, Type


def field_of(path: str, schema: Schema, column: Any) -> tuple[Schema, Any]:
    """Return the schema and the column of a field; null where a struct above it is null.

    A name that no struct has raises a `DataError`.
    """
    for name in path.split("."):
        field = schema.field(name) if schema.type is Type.STRUCT else None
        if field is None:
            raise DataError(f"Field '{path}' is not present in the schema.")
        inner = column.field(name)
        if column.null_count:
            inner = pc.if_else(column.is_valid(), inner, pa.scalar(None, inner.type))
        schema, column = field.schema, inner
    return schema, column
