"""The types of a DataFrame's columns for the schemas of records."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from hearth_api import ConfigError, Date, Decimal, Schema, Time, Timestamp, Type, is_logical

MOST_DIGITS = 38
"""Maximum precision of Spark's decimals, and of Arrow's with 128 bits."""
PRECISION = "connect.decimal.precision"
"""The schema parameter with the precision of decimals, which other connectors write as well."""
_SIMPLE: dict[Type, type[DataType]] = {
    Type.INT8: ByteType, Type.INT16: ShortType, Type.INT32: IntegerType, Type.INT64: LongType,
    Type.FLOAT32: FloatType, Type.FLOAT64: DoubleType, Type.BOOLEAN: BooleanType, Type.STRING: StringType,
    Type.BYTES: BinaryType,
}  # fmt: skip
_LOGICAL: dict[str | None, DataType] = {
    Date.LOGICAL_NAME: DateType(),
    Time.LOGICAL_NAME: IntegerType(),  # milliseconds: Spark's type TIME is disabled by default
    Timestamp.LOGICAL_NAME: TimestampType(),
}
HEADERS = ArrayType(StructType([StructField(name, StringType()) for name in ("key", "schema", "value")]))
"""Each header has its schema as JSON text, or null, and its value: a string, or JSON text."""


def spark_type(schema: Schema | None) -> DataType:
    """Return the column type for a schema; without a schema, values are JSON text."""
    if schema is None:
        return StringType()
    if is_logical(schema):
        return _decimal(schema) if schema.name == Decimal.LOGICAL_NAME else _LOGICAL[schema.name]
    if schema.type is Type.ARRAY:
        return ArrayType(spark_type(schema.value_schema))
    if schema.type is Type.MAP:
        return MapType(spark_type(schema.key_schema), spark_type(schema.value_schema))
    if schema.type is Type.STRUCT:
        return StructType([StructField(field.name, spark_type(field.schema)) for field in schema.fields])
    return _SIMPLE[schema.type]()


def read_schema(key: DataType, value: DataType) -> StructType:
    """Return all columns of a read, in order."""
    columns = {
        "topic": StringType(),
        "key": key,
        "value": value,
        "headers": HEADERS,
        "timestamp": TimestampType(),
        "partition": IntegerType(),
        "source_partition": StringType(),
        "source_offset": StringType(),
    }
    return StructType([StructField(name, type_) for name, type_ in columns.items()])


COLUMNS = tuple(read_schema(StringType(), StringType()).names)


def check_columns(schema: StructType) -> None:
    """Raise ConfigError for a column that a read does not have."""
    for name in schema.names:
        if name not in COLUMNS:
            raise ConfigError(
                f"a read has no column {name!r}",
                hint=f"use {', '.join(COLUMNS)}; fields of records are part of value",
            )


def _decimal(schema: Schema) -> DataType:
    scale = Decimal.scale(schema)
    text = (schema.parameters or {}).get(PRECISION, "")
    precision = int(text) if text.isdecimal() and 0 < int(text) <= MOST_DIGITS else MOST_DIGITS
    if not 0 <= scale <= precision:
        return StringType()  # not supported by Spark's decimals
    return DecimalType(precision, scale)
