"""The types of a DataFrame's columns, as the schemas of records have them."""

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
"""What Spark's decimals have, and Arrow's of 128 bits."""
PRECISION = "connect.decimal.precision"
"""The parameter of a schema of decimals that says how many digits there are, as others write it as well."""
_SIMPLE: dict[Type, type[DataType]] = {
    Type.INT8: ByteType, Type.INT16: ShortType, Type.INT32: IntegerType, Type.INT64: LongType,
    Type.FLOAT32: FloatType, Type.FLOAT64: DoubleType, Type.BOOLEAN: BooleanType, Type.STRING: StringType,
    Type.BYTES: BinaryType,
}  # fmt: skip
_LOGICAL: dict[str | None, DataType] = {
    Date.LOGICAL_NAME: DateType(),
    Time.LOGICAL_NAME: IntegerType(),  # milliseconds: the type TIME is off in Spark unless somebody turns it on
    Timestamp.LOGICAL_NAME: TimestampType(),
}
HEADERS = ArrayType(StructType([StructField(name, StringType()) for name in ("key", "schema", "value")]))
"""Each with its schema as JSON text, or null, and its value: the text itself, or JSON text."""


def spark_type(schema: Schema | None) -> DataType:
    """Return the type in which a column has values of a schema; without one they are JSON text."""
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
    """Return all columns that a read has, in their order."""
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
    """Raise ConfigError for a column that no read has."""
    for name in schema.names:
        if name not in COLUMNS:
            raise ConfigError(
                f"a read has no column {name!r}",
                hint=f"there are {', '.join(COLUMNS)}; fields of records stand below value",
            )


def _decimal(schema: Schema) -> DataType:
    scale = Decimal.scale(schema)
    text = (schema.parameters or {}).get(PRECISION, "")
    precision = int(text) if text.isdecimal() and 0 < int(text) <= MOST_DIGITS else MOST_DIGITS
    if not 0 <= scale <= precision:
        return StringType()  # what Spark has no decimals for
    return DecimalType(precision, scale)
