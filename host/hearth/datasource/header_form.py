"""Converts a DataFrame's column of headers to headers of records.

Accepts the type of a read (``array<struct<key, schema, value>>``, all strings), the type of Spark's Kafka sink
(``array<struct<key, value>>`` with strings or bytes), and a map of strings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark

from hearth_api import OPTIONAL_BYTES_SCHEMA, STRING_SCHEMA, ConfigError, ConnectError, DataError, Schema
from hearth_api.batch import header_texts, header_values, schema_texts
from hearth_api.java import schema_from_text

_PARTS = ("key", "schema", "value")
_ENTRY = pa.struct([(name, pa.string()) for name in _PARTS])
_LIST = pa.list_(_ENTRY)

Lists = Callable[[Any], Any]


def header_convert(kind: spark.DataType) -> Lists:
    """Return the conversion of a Spark column to headers; raises ConfigError for an unsuitable type."""
    if isinstance(kind, spark.MapType) and _is_text(kind.keyType) and _is_text(kind.valueType):
        return lambda column: _lists(column, column.keys, None, column.items)
    entry = kind.elementType if isinstance(kind, spark.ArrayType) else None
    if isinstance(entry, spark.StructType) and (convert := _of_structs(entry)) is not None:
        return convert
    raise ConfigError(
        f"the column headers is of type {kind.simpleString()}, which cannot hold headers",
        code="datasource.columns",
        hint="use array<struct<key: string, value: binary>>, array<struct<key: string, schema: string, value: "
        "string>> or map<string, string>",
    )


def _of_structs(entry: spark.StructType) -> Lists | None:
    kinds = {field.name: field.dataType for field in entry.fields}
    if not {"key", "value"} <= kinds.keys() <= set(_PARTS) or not _is_text(kinds["key"]):
        return None
    is_bytes = isinstance(kinds["value"], spark.BinaryType) and "schema" not in kinds
    if not is_bytes and not all(map(_is_text, kinds.values())):
        return None

    def convert(column: Any) -> Any:
        own = column.values
        if own.null_count:
            raise DataError("a header of a row is null", hint="filter such headers out: filter(headers, h -> ...)")
        schemas = own.field("schema") if "schema" in kinds else None
        return _lists(column, own.field("key"), schemas, own.field("value"))

    return convert


def _lists(column: Any, names: Any, schemas: Any, values: Any) -> Any:
    """Return headers from their parts, with the list offsets of a column."""
    names = names.cast(pa.string())
    if names.null_count:
        raise DataError("a header of a row has no key", hint="give each header a key, or filter those without out")
    if schemas is None:
        known: Schema = STRING_SCHEMA
        if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            known, values = OPTIONAL_BYTES_SCHEMA, header_texts(OPTIONAL_BYTES_SCHEMA, values.to_pylist())
        schemas = schema_texts(known, len(values))
    else:
        _check(schemas, values)
    parts = [names, schemas.cast(pa.string()), values.cast(pa.string())]
    entries = pa.StructArray.from_arrays(parts, fields=list(_ENTRY))
    buffers = column.buffers()[:2]
    return pa.Array.from_buffers(_LIST, len(column), buffers, column.null_count, column.offset, [entries])


def _check(schemas: Any, values: Any) -> None:
    """Raise DataError unless each value matches its schema, because a task would fail to read it."""
    for text in pc.unique(schemas).to_pylist():
        is_own = pc.is_null(schemas) if text is None else pc.equal(schemas, text)
        own = values.filter(pc.fill_null(is_own, False))
        try:
            header_values(None if text is None else schema_from_text(text), own)
        except (ConnectError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            raise DataError(
                f"a header's value does not match its schema {text!r}: {error}",
                hint="use schemas and values as a read has them, or strings or bytes without schemas",
            ) from error


def _is_text(kind: spark.DataType) -> bool:
    return isinstance(kind, (spark.StringType, spark.CharType, spark.VarcharType))
