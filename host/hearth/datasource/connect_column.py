"""Columns of Spark as columns of Connect data: the schema of a Spark type, and its values in their physical form.

Spark's Arrow batches hold decimals of 16 bytes, times in micro- and nanoseconds and names of its own for the parts of
lists; Connect has the shortest bytes of a decimal, milliseconds and days. All else is the same memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as spark

from hearth_api import ConfigError, Date, Decimal, Schema, SchemaBuilder, Time, Timestamp
from hearth_api.batch import arrow_type
from hearth_api.layout import number_type

PRECISION = "connect.decimal.precision"
"""The parameter by which a decimal's schema says how many digits there are, as connectors of databases write it."""
_DECIMAL_BYTES = 16

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class ConnectColumn:
    """What a column of a Spark type is in Connect: its schema, and what makes the physical column of Spark's.

    A column without schema holds plain JSON text. ``convert`` keeps the rows, and takes slices.
    """

    schema: Schema | None
    convert: Convert

    @classmethod
    def of(
        cls, data_type: spark.DataType, place: str, *, is_nullable: bool = True, doc: str | None = None
    ) -> ConnectColumn:
        """Return what a column of a type is, and its comment; ``place`` is what it is called in errors.

        Raises ConfigError for a type that Connect has none for.
        """
        if isinstance(data_type, spark.VariantType):
            return cls(None, _variants)
        builder, convert = _of(data_type, place)
        return cls(_built(builder, is_nullable, doc), convert)


def _built(builder: SchemaBuilder, is_nullable: bool, doc: str | None) -> Schema:
    return (builder.optional() if is_nullable else builder).doc(doc).build()


def _of(data_type: spark.DataType, place: str) -> tuple[SchemaBuilder, Convert]:
    """Return the schema of a type, which is not built yet, and what converts its columns."""
    if isinstance(data_type, spark.StructType):
        return _struct(data_type, place)
    if isinstance(data_type, spark.ArrayType):
        element = _part(data_type.elementType, f"{place}[]", is_nullable=data_type.containsNull)
        return SchemaBuilder.array(_known(element)), _lists(element)
    if isinstance(data_type, spark.MapType):
        key = _part(data_type.keyType, f"{place}.key", is_nullable=False)
        value = _part(data_type.valueType, f"{place}.value", is_nullable=data_type.valueContainsNull)
        return SchemaBuilder.map(_known(key), _known(value)), _maps(key, value)
    if isinstance(data_type, spark.DecimalType):
        builder = Decimal.builder(data_type.scale).parameter(PRECISION, str(data_type.precision))
        return builder, _decimals
    for kind, build, convert in _PLAIN:
        if isinstance(data_type, kind):
            return build(), convert
    raise ConfigError(
        f"column {place} is of type {data_type.simpleString()}, which a record of Connect cannot hold",
        code="datasource.type",
        hint=f"cast it, as in df.withColumn({place!r}, col({place!r}).cast('string'))",
    )


def _part(data_type: spark.DataType, place: str, *, is_nullable: bool, doc: str | None = None) -> ConnectColumn:
    """Return what a part of a value is: a variant there is its JSON text, for all parts of a value have a schema."""
    column = ConnectColumn.of(data_type, place, is_nullable=is_nullable, doc=doc)
    if column.schema is not None:
        return column
    return ConnectColumn(_built(SchemaBuilder.string(), is_nullable, doc), column.convert)


def _known(column: ConnectColumn) -> Schema:
    assert column.schema is not None, "a part of a value has a schema"
    return column.schema


# What has parts ----------------------------------------------------------------------------------------------


def _struct(data_type: spark.StructType, place: str) -> tuple[SchemaBuilder, Convert]:
    builder = SchemaBuilder.struct()
    parts = []
    for field in data_type.fields:
        own = f"{place}.{field.name}" if place else field.name
        doc = (field.metadata or {}).get("comment")
        part = _part(field.dataType, own, is_nullable=field.nullable, doc=doc)
        parts.append(part)
        builder.field(field.name, _known(part))
    fields = [pa.field(field.name, arrow_type(part.schema)) for field, part in zip(data_type.fields, parts)]

    def convert(column: Any) -> Any:
        if not fields:
            return column
        arrays = [part.convert(column.field(index)) for index, part in enumerate(parts)]
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)

    return builder, convert


def _lists(element: ConnectColumn) -> Convert:
    kind = pa.list_(arrow_type(element.schema))

    def convert(column: Any) -> Any:
        return _with_parts(column, kind, element.convert(column.values))

    return convert


def _maps(key: ConnectColumn, value: ConnectColumn) -> Convert:
    kind = pa.map_(arrow_type(key.schema), arrow_type(value.schema))
    entries = [pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)]

    def convert(column: Any) -> Any:
        pairs = [key.convert(column.keys), value.convert(column.items)]
        return _with_parts(column, kind, pa.StructArray.from_arrays(pairs, fields=entries))

    return convert


def _with_parts(column: Any, kind: Any, parts: Any) -> Any:
    """Return lists that begin and end where those of a column do, with other parts."""
    buffers = column.buffers()[:2]
    return pa.Array.from_buffers(kind, len(column), buffers, column.null_count, column.offset, [parts])


# What has none -----------------------------------------------------------------------------------------------


def _as(kind: Any) -> Convert:
    def convert(column: Any) -> Any:
        return column if column.type == kind else column.cast(kind)

    return convert


def _days(column: Any) -> Any:
    return column.cast(pa.int32())


def _milliseconds(unit: str, per_millisecond: int, kind: Any) -> Convert:
    """Return what makes milliseconds of a finer unit, the earlier one where that is between two."""

    def convert(column: Any) -> Any:
        fine = column.cast(unit_type(column)).cast(pa.int64())
        coarse = np.floor_divide(fine.fill_null(0).to_numpy(zero_copy_only=False), per_millisecond)
        mask = fine.is_null().to_numpy(zero_copy_only=False) if fine.null_count else None
        return pa.array(coarse.astype(number_type(kind)), kind, mask=mask)

    def unit_type(column: Any) -> Any:
        return pa.time64(unit) if pa.types.is_time(column.type) else pa.timestamp(unit, column.type.tz)

    return convert


def _decimals(column: Any) -> Any:
    """Return the unscaled numbers as the shortest bytes of two's complement, the highest first, as Java has them."""
    count = len(column)
    memory = np.frombuffer(column.buffers()[1], np.uint8) if count else np.zeros(0, np.uint8)
    start = column.offset * _DECIMAL_BYTES
    digits = memory[start : start + count * _DECIMAL_BYTES].reshape(count, _DECIMAL_BYTES)[:, ::-1]
    sign = np.where(digits[:, :1] >= 128, np.uint8(255), np.uint8(0))
    # a byte can go if it says no more than the sign does, and the next one still has the sign in its highest bit
    is_idle = (digits[:, :-1] == sign) & ((digits[:, 1:] >= 128) == (sign == 255))
    lead = np.cumprod(is_idle, axis=1, dtype=np.uint8).sum(axis=1, dtype=np.int32)
    valid = np.ones(count, bool) if not column.null_count else column.is_valid().to_numpy(zero_copy_only=False)
    kept = (np.arange(_DECIMAL_BYTES) >= lead[:, None]) & valid[:, None]
    ends = np.concatenate([[0], np.cumsum(np.where(valid, _DECIMAL_BYTES - lead, 0), dtype=np.int64)])
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError(f"{count} decimals in one batch")
    validity = pa.array(valid).buffers()[1] if column.null_count else None
    buffers = [validity, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(digits[kept].tobytes())]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _variants(column: Any) -> Any:
    parts = zip(column.field("value").to_pylist(), column.field("metadata").to_pylist(), column.is_valid().to_pylist())
    texts = [spark.VariantVal(value, metadata).toJson() if is_there else None for value, metadata, is_there in parts]
    return pa.array(texts, pa.string())


_PLAIN: list[tuple[Any, Callable[[], SchemaBuilder], Convert]] = [
    (spark.ByteType, SchemaBuilder.int8, _as(pa.int8())),
    (spark.ShortType, SchemaBuilder.int16, _as(pa.int16())),
    (spark.IntegerType, SchemaBuilder.int32, _as(pa.int32())),
    (spark.LongType, SchemaBuilder.int64, _as(pa.int64())),
    (spark.FloatType, SchemaBuilder.float32, _as(pa.float32())),
    (spark.DoubleType, SchemaBuilder.float64, _as(pa.float64())),
    (spark.BooleanType, SchemaBuilder.boolean, _as(pa.bool_())),
    ((spark.StringType, spark.CharType, spark.VarcharType), SchemaBuilder.string, _as(pa.string())),
    (spark.NullType, SchemaBuilder.string, _as(pa.string())),
    (spark.BinaryType, SchemaBuilder.bytes, _as(pa.binary())),
    (spark.DateType, Date.builder, _days),
    (spark.TimestampType, Timestamp.builder, _milliseconds("us", 1_000, pa.int64())),
    (spark.TimestampNTZType, Timestamp.builder, _milliseconds("us", 1_000, pa.int64())),
    (spark.TimeType, Time.builder, _milliseconds("ns", 1_000_000, pa.int32())),
]
