"""Converts Spark's columns to Connect's: the schema for a Spark type, and its values in physical form.

Spark's Arrow batches have decimals of 16 bytes, times in micro- and nanoseconds and other names for the parts of
lists; Connect has the shortest bytes of a decimal, milliseconds and days. Everything else shares memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_type

from hearth_api import ConfigError, SchemaBuilder
from hearth_api.batch import TableColumn, list_form, map_form, plain_form, struct_form

Form = tuple[SchemaBuilder, Callable[[Any], Any]]
"""The schema builder for a type, and the conversion of its columns."""


class ConnectColumn(TableColumn):
    """A column of a Spark type in Connect: its schema, and the conversion of Spark's column."""

    @classmethod
    def of(cls, kind: spark.DataType, place: str, *, is_nullable: bool = True) -> ConnectColumn:
        """Return the schema and conversion for a Spark type; ``place`` names the column in errors.

        Raises ConfigError for a type without a counterpart in Connect.
        """
        if isinstance(kind, spark.VariantType):
            return cls(None, _variants)
        return cls.built(_of(kind, place), is_nullable)


def _of(data_type: spark.DataType, place: str) -> Form:
    if isinstance(data_type, spark.StructType):
        return _struct(data_type, place)
    if isinstance(data_type, spark.ArrayType):
        return list_form(_part(data_type.elementType, f"{place}[]", is_nullable=data_type.containsNull))
    if isinstance(data_type, spark.MapType):
        key = _part(data_type.keyType, f"{place}.key", is_nullable=False)
        return map_form(key, _part(data_type.valueType, f"{place}.value", is_nullable=data_type.valueContainsNull))
    form = plain_form(_arrow_type(data_type)) if isinstance(data_type, _PLAIN) else None
    if form is None:
        raise ConfigError(
            f"column {place} is of type {data_type.simpleString()}, which a Connect record cannot hold",
            code="datasource.type",
            hint=f"cast it, as in df.withColumn({place!r}, col({place!r}).cast('string'))",
        )
    return form


def _arrow_type(data_type: spark.DataType) -> Any:
    is_text = isinstance(data_type, (spark.CharType, spark.VarcharType))
    return to_arrow_type(spark.StringType() if is_text else data_type, timezone="UTC")


def _part(data_type: spark.DataType, place: str, *, is_nullable: bool, doc: str | None = None) -> TableColumn:
    """Return the column of a nested value; a nested variant becomes JSON text, because it needs a schema."""
    if isinstance(data_type, spark.VariantType):
        return ConnectColumn.built((SchemaBuilder.string(), _variants), is_nullable, doc)
    return ConnectColumn.built(_of(data_type, place), is_nullable, doc)


def _struct(data_type: spark.StructType, place: str) -> Form:
    parts = []
    for field in data_type.fields:
        own = f"{place}.{field.name}" if place else field.name
        doc = (field.metadata or {}).get("comment")
        parts.append(_part(field.dataType, own, is_nullable=field.nullable, doc=doc))
    return struct_form(data_type.names, parts)


def _variants(column: Any) -> Any:
    parts = zip(column.field("value").to_pylist(), column.field("metadata").to_pylist(), column.is_valid().to_pylist())
    texts = [spark.VariantVal(value, metadata).toJson() if is_valid else None for value, metadata, is_valid in parts]
    return pa.array(texts, pa.string())


_PLAIN = (
    spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType, spark.FloatType, spark.DoubleType,
    spark.DecimalType, spark.BooleanType, spark.StringType, spark.CharType, spark.VarcharType, spark.NullType,
    spark.BinaryType, spark.DateType, spark.TimestampType, spark.TimestampNTZType, spark.TimeType,
)  # fmt: skip
