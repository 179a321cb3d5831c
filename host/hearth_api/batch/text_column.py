"""Java's text for the values of a column, many at a time."""

from __future__ import annotations

from typing import Any

from hearth_api.batch.column import column_to_values
from hearth_api.schema import Schema, Type
from hearth_api.schema_reference import is_text
from hearth_api.text import java_text
from hearth_api.validation import is_logical

_WHOLE = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)


def column_to_texts(schema: Schema, column: Any) -> list[str | None]:
    """Return the text of `java_text` for each value of a column, None for null."""
    if schema.type is Type.STRUCT and not is_text(schema) and schema.fields:
        return _struct_texts(schema, column)
    values = column_to_values(schema, column)
    if schema.type is Type.STRING:
        return values
    if schema.type in _WHOLE and not is_logical(schema) and not column.null_count:
        return list(map(str, values))
    return [None if value is None else java_text(value, schema) for value in values]


def _struct_texts(schema: Schema, column: Any) -> list[str | None]:
    """Return `Struct{a=1,b=x}` for each struct, without null fields."""
    children = [column.field(field.index) for field in schema.fields]
    texts = [column_to_texts(field.schema, child) for field, child in zip(schema.fields, children)]
    if any(child.null_count for child in children):
        parts = [
            [None if text is None else f"{field.name}={text}" for text in own]
            for field, own in zip(schema.fields, texts)
        ]
        whole = [f"Struct{{{','.join(filter(None, row))}}}" for row in zip(*parts)]
    else:
        form = f"Struct{{{','.join(field.name.replace('%', '%%') + '=%s' for field in schema.fields)}}}"
        whole = [form % row for row in zip(*texts)]
    if not column.null_count:
        return [*whole]
    return [text if valid else None for text, valid in zip(whole, column.is_valid().to_pylist())]
