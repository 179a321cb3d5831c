"""Headers in a column of a DataFrame as headers of records.

They come as a read has them (``array<struct<key, schema, value>>``, all texts), as Spark's own Kafka sink takes them
(``array<struct<key, value>>`` with texts or bytes), or as a map of texts.
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
    """Return what makes the column of headers of one of Spark's; ConfigError for a type of which none is."""
    if isinstance(kind, spark.MapType) and _is_text(kind.keyType) and _is_text(kind.valueType):
        return lambda column: _lists(column, column.keys, None, column.items)
    entry = kind.elementType if isinstance(kind, spark.ArrayType) else None
    if isinstance(entry, spark.StructType) and (convert := _of_structs(entry)) is not None:
        return convert
    raise ConfigError(
        f"the column headers is of type {kind.simpleString()}, which are no headers",
        code="datasource.columns",
        hint="make it array<struct<key: string, value: binary>>, array<struct<key: string, schema: string, value: "
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
            raise DataError("one of the headers of a row is null", hint="filter them out: filter(headers, h -> ...)")
        schemas = own.field("schema") if "schema" in kinds else None
        return _lists(column, own.field("key"), schemas, own.field("value"))

    return convert


def _lists(column: Any, names: Any, schemas: Any, values: Any) -> Any:
    """Return headers of these parts, which begin and end where the lists of a column do."""
    names = names.cast(pa.string())
    if names.null_count:
        raise DataError("one of the headers of a row has no key", hint="give each a key, or filter them out")
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
    """Raise DataError unless each value is one of its schema: a task would fail with what cannot be read."""
    for text in pc.unique(schemas).to_pylist():
        is_own = pc.is_null(schemas) if text is None else pc.equal(schemas, text)
        own = values.filter(pc.fill_null(is_own, False))
        try:
            header_values(None if text is None else schema_from_text(text), own)
        except (ConnectError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            raise DataError(
                f"headers with the schema {text!r} have a value that is none of it: {error}",
                hint="have schemas and values as a read has them, or no schemas and texts or bytes",
            ) from error


def _is_text(kind: spark.DataType) -> bool:
    return isinstance(kind, (spark.StringType, spark.CharType, spark.VarcharType))
