"""Columns of the files beside: keys and headers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from hearth_api import STRING_SCHEMA, DataError, Schema, SchemaBuilder
from hearth_api.batch import Batch, column_to_headers
from hearth_api.java import convert_to_string

_HEADER = SchemaBuilder.struct().field("key", STRING_SCHEMA).field("value", STRING_SCHEMA).build()
HEADERS_SCHEMA = SchemaBuilder.array(_HEADER).build()


def key_part(batch: Batch, *, is_enveloped: bool) -> tuple[Schema | None, Any]:
    """Return schema and column of a file of keys; in Parquet, which has structs alone, a key is in a struct.

    A record without key raises a `DataError`, as in Confluent's sink.
    """
    column = batch.column("key")
    if column is None or column.null_count:
        raise DataError("Key cannot be null for SinkRecord", hint="set store.kafka.keys=false, or give records a key")
    return _enveloped(batch.key_schema, column, "RecordKey", "key") if is_enveloped else (batch.key_schema, column)


def header_part(batch: Batch, *, is_enveloped: bool) -> tuple[Schema | None, Any]:
    """Return schema and column of a file of headers: their names and the texts of their values."""
    column = batch.column("headers")
    rows = [] if column is None else column_to_headers(column)
    if len(rows) != batch.num_rows or not all(rows):
        raise DataError(
            "Headers cannot be null for SinkRecord", hint="set store.kafka.headers=false, or give records a header"
        )
    texts = [
        [{"key": each.key, "value": convert_to_string(each.schema, each.value)} for each in row or ()] for row in rows
    ]
    found = pa.array(texts, pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())])))
    return _enveloped(HEADERS_SCHEMA, found, "RecordHeaders", "headers") if is_enveloped else (HEADERS_SCHEMA, found)


def _enveloped(schema: Schema | None, column: Any, name: str, field: str) -> tuple[Schema | None, Any]:
    if schema is None:
        raise DataError(f"Parquet needs a schema of the {field}", hint="choose another format for them")
    envelope = SchemaBuilder.struct().name(name).field(field, schema).build()
    return envelope, pa.StructArray.from_arrays([column], fields=[pa.field(field, column.type)])
