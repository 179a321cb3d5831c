"""Writes columns as JSON texts without access to single values while they are regular.

The text around the values is the same in every row, so a struct of any depth is one join of constant texts and
columns. Rows with nulls and values with an unusual JSON form are exceptions and cost more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Date, Decimal, Schema, Time, Timestamp, Type
from hearth_api.batch import column_to_values
from hearth_api.layout import constant, join
from hearth_json.depth import NOT_WRITTEN, is_too_deep, too_deep
from hearth_json.literal import base64_literal, decimal_literal, double_literal, float_literal, string_literal
from hearth_json.plain_writer import plain_texts
from hearth_json.row_writer import RowWriter
from hearth_json.scan import deep_rows
from hearth_json.schema_writer import SchemaWriter
from hearth_json.setting import JsonConverterSettings
from hearth_json.text_column import escaped, scatter
from hearth_json.value_writer import ValueWriter

_INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
_LOGICAL = (Decimal.LOGICAL_NAME, Date.LOGICAL_NAME, Time.LOGICAL_NAME, Timestamp.LOGICAL_NAME)
_NESTED = (Type.STRUCT, Type.ARRAY, Type.MAP)


class ColumnWriter:
    """Writes columns of values as columns of JSON texts, equal to the texts of `ValueWriter`."""

    def __init__(self, settings: JsonConverterSettings, values: ValueWriter, schemas: SchemaWriter) -> None:
        """Use the plain form's writers for nulls and rare cases."""
        self._settings = settings
        self._values = values
        self._schemas = schemas
        self._rows = RowWriter(settings, values, schemas, self._texts)

    def row_writer(self, schema: Schema | None) -> Any:
        """Return the writer of single values of a schema, None if there is none."""
        return self._rows.writer(schema)

    def messages(self, schema: Schema | None, column: Any) -> Any:
        """Return the bytes of one Kafka record per row; without schema a null stays null."""
        length = len(column)
        if length == 0 or (schema is None and column.null_count == length):  # like the keys of most topics
            return pa.nulls(length, pa.binary())
        if schema is None:
            pieces: list[Any] = [plain_texts(self._values, column)]
        elif (texts := self._rows.messages(schema, column)) is not None:
            return texts
        else:
            pieces = self.pieces(schema, column)
        if self._settings.schemas_enable:
            pieces = [f'{{"schema":{self._schemas.text(schema)},"payload":'.encode(), *pieces, b"}"]
        return join(pieces, length)

    def refuse_too_deep(self, schema: Schema | None, messages: Any) -> None:
        """Raise DataError for a message nested deeper than Jackson writes; most schemas exclude that."""
        if _is_open(schema) and any(is_too_deep(messages[row].as_py().decode()) for row in deep_rows(messages)):
            raise DataError(NOT_WRITTEN) from too_deep("Write")

    def pieces(self, schema: Schema | None, column: Any) -> list[Any]:
        """Return the constants and null-free columns whose join is the JSON text of every row."""
        if column.null_count:
            return [self._with_nulls(schema, column)]
        if schema is None:
            return [plain_texts(self._values, column)]
        if schema.type is Type.STRUCT:
            return self._struct(schema, column)
        if schema.type is Type.ARRAY:
            return self._array(schema, column)
        if schema.type is Type.MAP:
            return self._map(schema, column)
        return self._scalar(schema, column)

    def _with_nulls(self, schema: Schema | None, column: Any) -> Any:
        null_text = self._values.null(schema).encode()
        if schema is None or schema.type in _NESTED:
            present = column.drop_null()
            return scatter(join(self.pieces(schema, present), len(present)), column, null_text)
        texts = join(self._scalar(schema, column), len(column))
        return pc.fill_null(texts, pa.scalar(null_text, pa.binary()))

    def _struct(self, schema: Schema, column: Any) -> list[Any]:
        pieces: list[Any] = [b"{"]
        for field in schema.fields:
            comma = "," if field.index else ""
            pieces.append(f"{comma}{string_literal(field.name)}:".encode())
            pieces += self.pieces(field.schema, column.field(field.index))
        return [*pieces, b"}"]

    def _array(self, schema: Schema, column: Any) -> list[Any]:
        offsets, (items,) = _spread(column, column.values)
        return [b"[", _joined_lists(offsets, self._texts(schema.value_schema, items)), b"]"]

    def _map(self, schema: Schema, column: Any) -> list[Any]:
        offsets, (keys, items) = _spread(column, column.keys, column.items)
        key_schema = schema.key_schema
        if key_schema is not None and key_schema.type is Type.STRING and key_schema.name not in _LOGICAL:
            member = [*self.pieces(key_schema, keys), b":", *self.pieces(schema.value_schema, items)]
            return [b"{", _joined_lists(offsets, join(member, len(keys))), b"}"]
        if key_schema is not None and key_schema.type is Type.STRING:
            return [self._value_by_value(schema, column)]
        pair = [b"[", *self.pieces(key_schema, keys), b",", *self.pieces(schema.value_schema, items), b"]"]
        return [b"[", _joined_lists(offsets, join(pair, len(keys))), b"]"]

    def _texts(self, schema: Schema | None, column: Any) -> Any:
        return join(self.pieces(schema, column), len(column))

    def _scalar(self, schema: Schema, column: Any) -> list[Any]:
        if schema.name in _LOGICAL and not (schema.type in _INTEGERS and schema.name != Decimal.LOGICAL_NAME):
            return [self._decimal(schema, column)]
        if schema.type in _INTEGERS:
            return [column.cast(pa.string())]
        if schema.type is Type.STRING:
            return [b'"', escaped(column), b'"']
        if schema.type is Type.BOOLEAN:
            return [column.cast(pa.string())]
        if schema.type is Type.BYTES:
            return [_each(column.to_pylist(), base64_literal)]
        return [_float_texts(column, float_literal if schema.type is Type.FLOAT32 else double_literal)]

    def _decimal(self, schema: Schema, column: Any) -> Any:
        if schema.name == Decimal.LOGICAL_NAME and schema.type is Type.BYTES and not self._settings.is_numeric:
            return _each(column.to_pylist(), base64_literal)
        if schema.name == Decimal.LOGICAL_NAME and schema.type is Type.BYTES:
            return _each(column_to_values(schema, column), decimal_literal)
        return self._value_by_value(schema, column)

    def _value_by_value(self, schema: Schema, column: Any) -> Any:
        return _each(column_to_values(schema, column), lambda value: self._values.text(schema, value))


@lru_cache(maxsize=1000)
def _is_open(schema: Schema | None) -> bool:
    """Return whether a schema contains values without schema, so that it does not bound their depth."""
    if schema is None:
        return True
    if schema.type is Type.STRUCT:
        return any(_is_open(field.schema) for field in schema.fields)
    if schema.type is Type.MAP and _is_open(schema.key_schema):
        return True
    return schema.type in _NESTED and _is_open(schema.value_schema)


def _each(values: list[Any], text: Callable[[Any], str]) -> Any:
    return pa.array([None if value is None else text(value) for value in values], pa.string())


def _spread(column: Any, *children: Any) -> tuple[Any, list[Any]]:
    """Return the offsets, starting at 0, of a list or map column without nulls, and the used parts of its children."""
    offsets = column.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    return pa.array(offsets - first), [child.slice(first, last - first) for child in children]


def _joined_lists(offsets: Any, texts: Any) -> Any:
    return pc.binary_join(pa.ListArray.from_arrays(offsets, texts), b",")


def _float_texts(column: Any, literal: Callable[[float], str]) -> Any:
    """Return floats as Java prints them; Arrow prints the same digits and layout except for a missing `.0`."""
    texts = column.cast(pa.string())
    numbers = np.abs(pc.fill_null(column, 1.0).to_numpy(zero_copy_only=False).astype(np.float64))
    is_plain = ((numbers >= 1e-3) & (numbers < 1e7)) | (numbers == 0.0)
    is_whole = is_plain & (numbers == np.floor(numbers))
    if is_whole.any():
        texts = pc.if_else(pa.array(is_whole), pc.binary_join_element_wise(texts, constant(""), constant(".0")), texts)
    if is_plain.all():
        return texts
    # For the others Java's text, computed from the value, replaces Arrow's.
    rows = np.flatnonzero(~is_plain)
    unusual = pa.array([literal(value) for value in column.take(pa.array(rows)).to_pylist()], pa.string())
    return pc.replace_with_mask(texts, pa.array(~is_plain), unusual)
