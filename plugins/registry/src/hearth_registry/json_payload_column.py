"""Converts columns of JSON payloads with the column form of Kafka's JsonConverter where results are equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Schema, Type
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.layout import join
from hearth_json.column_reader import ColumnReader
from hearth_json.column_writer import ColumnWriter
from hearth_json.schema_writer import SchemaWriter
from hearth_json.value_reader import ValueReader
from hearth_registry import json_schema_word as word
from hearth_registry.json_payload_reader import JsonPayloadReader, inner_schema
from hearth_registry.json_payload_writer import JsonPayloadWriter, json_settings
from hearth_registry.json_schema_setting import JsonSchemaSettings


class JsonPayloadColumns(ColumnWriter):
    """Writes columns of values as columns of payloads, equal to those of `JsonPayloadWriter`."""

    def __init__(self, settings: JsonSchemaSettings, values: JsonPayloadWriter) -> None:
        """Use the plain form's writer for nulls and rare cases."""
        plain = json_settings(settings, not settings.ignore_default_for_nullables)
        super().__init__(plain, values, SchemaWriter(values, 0))
        self._writer = values

    def payloads(self, schema: Schema, column: Any, prefix: bytes) -> Any:
        """Return the prefixed payload of every row."""
        return join([prefix, *self.pieces(schema, column)], len(column)) if len(column) else pa.array([], pa.binary())

    def pieces(self, schema: Schema | None, column: Any) -> list[Any]:
        """Return the constants and columns whose join is the JSON text of every row."""
        if schema is None or (self._writer.is_regular(schema) and not self._has_gaps(schema, column)):
            return super().pieces(schema, column)
        texts = [self._writer.text(schema, value) for value in column_to_values(schema, column)]
        return [pa.array(texts, pa.string())]

    def _has_gaps(self, schema: Schema, column: Any) -> bool:
        """Return whether some rows omit fields of a struct."""
        if schema.type is not Type.STRUCT:
            return False
        fields = schema.fields
        return any(self._writer.is_left_out(each.schema) and column.field(each.index).null_count for each in fields)


class JsonPayloadColumnReader:
    """Reads payloads of one schema into columns; the plain form reads ambiguous rows and raises the errors."""

    def __init__(self, settings: JsonSchemaSettings, schema: Schema, values: JsonPayloadReader) -> None:
        """Use the given reader for rare cases."""
        self._schema = schema
        self._values = values
        settings_of_json = json_settings(settings, replaces_null=True)
        is_plain = _is_plain(schema, settings.preserve_additional_properties)
        self._columns = ColumnReader(settings_of_json, ValueReader(settings_of_json)) if is_plain else None

    def values(self, payloads: Any) -> Any:
        """Return the values of a binary column without nulls."""
        parts = [] if self._columns is None else self._columns.parts(self._schema, payloads)
        left = np.ones(len(payloads), bool)
        for rows, _ in parts:
            left[rows] = False
        rows = np.flatnonzero(left)
        if len(rows):
            values = [
                self._values.payload(self._schema, payload) for payload in payloads.take(pa.array(rows)).to_pylist()
            ]
            parts.append((rows, values_to_column(self._schema, values)))
        if len(parts) == 1:
            return parts[0][1]
        order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
        return pa.concat_arrays([column for _, column in parts]).take(pa.array(order))


def _is_plain(schema: Schema, keeps_extras: bool) -> bool:
    """Return whether Kafka's JsonConverter reads a schema's values equally, apart from missing members."""
    if schema.type is Type.ARRAY:
        return _is_plain(inner_schema(schema), keeps_extras)
    if schema.type is Type.MAP:
        return word.is_object_map(schema) and _is_plain(inner_schema(schema), keeps_extras)
    if schema.type is not Type.STRUCT:
        return True
    if word.is_union(schema) or word.is_variant(schema) or (keeps_extras and schema.field(word.EXTRAS) is not None):
        return False
    return all(_is_plain(field.schema, keeps_extras) for field in schema.fields)
