"""Writes columns as JSON texts with a compiled loop over rows.

An Arrow call takes as long as this loop for a hundred values, and a column needs several calls for each part. So rows
of small batches, which alternating schemas cause, cost no more than those of large ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa

from hearth_api import DataError, Date, Decimal, Schema, Time, Timestamp, Type
from hearth_api.batch import arrow_type
from hearth_api.layout import RowTexts
from hearth_json.literal import double_literal, string_literal
from hearth_json.schema_writer import SchemaWriter
from hearth_json.setting import JsonConverterSettings
from hearth_json.value_writer import ValueWriter

_LOGICAL = (Decimal.LOGICAL_NAME, Date.LOGICAL_NAME, Time.LOGICAL_NAME, Timestamp.LOGICAL_NAME)
_INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
_PLAIN = (*_INTEGERS, Type.BOOLEAN, Type.STRING, Type.FLOAT64)
_rows: Any = RowTexts
_NULLS: Any = None if RowTexts is None else RowTexts(b"", ("NOTHING", b"", ()), b"")
_REMEMBERED = 1000
"""Number of cached schemas."""


class _UnknownError(Exception):
    """The loop does not support a part of a list or map."""


@dataclass(frozen=True)
class _Form:
    """The writer of a schema's values: a loop that takes the texts of unsupported parts as input."""

    type: Any
    rows: Any
    texts: list[tuple[tuple[int, ...], Schema | None]]
    """The paths of these parts by field index, and their schemas."""


class RowWriter:
    """Writes columns like `ColumnWriter`, if the loop is compiled."""

    def __init__(
        self,
        settings: JsonConverterSettings,
        values: ValueWriter,
        schemas: SchemaWriter,
        texts: Callable[[Schema | None, Any], Any],
    ) -> None:
        """Use `texts(schema, column)` to write the parts that the loop does not support."""
        self._settings = settings
        self._values = values
        self._schemas = schemas
        self._texts = texts
        self._form = lru_cache(maxsize=_REMEMBERED)(self._new_form)

    def writer(self, schema: Schema | None) -> Any:
        """Return the loop for single values of a schema, None if it needs texts of parts."""
        if _rows is None:
            return None
        if schema is None:
            return _NULLS
        form = self._form(schema)
        return None if form.texts else form.rows

    def messages(self, schema: Schema, column: Any) -> Any:
        """Return the bytes of one Kafka record per row, or None if the loop cannot write the columns."""
        if _rows is None:
            return None
        form = self._form(schema)
        if column.type != form.type:
            return None
        texts = []
        for path, own in form.texts:
            part = column
            for number in path:
                if part.null_count:  # the children of a null are undefined and need not fit their schema
                    return None
                part = part.field(number)
            texts.append(self._texts(own, part))
        if (found := form.rows.write(column, texts)) is None:
            return None
        content, ends = map(pa.py_buffer, found)
        return pa.Array.from_buffers(pa.binary(), len(column), [None, ends, content], 0)

    def _new_form(self, schema: Schema) -> _Form:
        texts: list[tuple[tuple[int, ...], Schema | None]] = []
        opening, closing = "", ""
        if self._settings.schemas_enable:
            opening, closing = f'{{"schema":{self._schemas.text(schema)},"payload":', "}"
        part = self._part(schema, (), texts)
        return _Form(arrow_type(schema), _rows(opening.encode(), part, closing.encode()), texts)

    def _part(self, schema: Schema | None, path: tuple[int, ...] | None, texts: list[Any]) -> tuple[Any, ...]:
        """Return the loop's instruction for a part; parts of a list or map have no path."""
        null = self._null(schema)
        if schema is not None and not schema.is_reference:
            if schema.type is Type.STRUCT:
                return "STRUCT", null, self._members(schema, path, texts)
            if schema.type in (Type.ARRAY, Type.MAP):
                try:
                    return self._list(schema, null)
                except _UnknownError:
                    pass
            elif schema.type in _PLAIN and _is_plain(schema):
                return schema.type.name, null, (), double_literal
        if path is None:
            raise _UnknownError
        texts.append((path, schema))
        return "TEXT", null, ()

    def _members(self, schema: Schema, path: tuple[int, ...] | None, texts: list[Any]) -> tuple[Any, ...]:
        members = []
        for field in schema.fields:
            before = f"{',' if field.index else '{'}{string_literal(field.name)}:"
            own = None if path is None else (*path, field.index)
            members.append((before.encode(), self._part(field.schema, own, texts)))
        return tuple(members)

    def _list(self, schema: Schema, null: bytes | None) -> tuple[Any, ...]:
        values = self._part(schema.value_schema, None, [])
        if schema.type is Type.ARRAY:
            return "ARRAY", null, (values,)
        keys = self._part(schema.key_schema, None, [])
        if keys[0] != "STRING":
            raise _UnknownError
        return "MAP", null, (keys, values)

    def _null(self, schema: Schema | None) -> bytes | None:
        try:
            return self._values.null(schema).encode()
        except DataError:
            return None


def _is_plain(schema: Schema) -> bool:
    """Return whether the type alone determines how a value is written."""
    return schema.name not in _LOGICAL or (schema.type in _INTEGERS and schema.name != Decimal.LOGICAL_NAME)
