"""Conversion of Spark's columns to Connect's."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as PythonDecimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_type

from hearth.datasource.connect_column import ConnectColumn
from hearth_api import ConfigError, Date, Decimal, Schema, SchemaBuilder, Time, Timestamp, Type
from hearth_api.batch import arrow_type, column_to_values
from hearth_api.struct import Struct

UTC = dt.timezone.utc
ROW = spark.StructType(
    [
        spark.StructField("id", spark.LongType(), nullable=False),
        spark.StructField("price", spark.DecimalType(12, 3)),
        spark.StructField("day", spark.DateType()),
        spark.StructField("at", spark.TimestampType()),
        spark.StructField("tags", spark.ArrayType(spark.TimestampType())),
        spark.StructField("sums", spark.MapType(spark.StringType(), spark.DecimalType(5, 1))),
        spark.StructField("inner", spark.StructType([spark.StructField("t", spark.TimestampNTZType())])),
    ]
)


def plain(value: Any) -> Any:
    """Return a value of the record API without its structs."""
    if isinstance(value, Struct):
        return {field.name: plain(value.get(field.name)) for field in value.schema.fields}
    if isinstance(value, list):
        return [*map(plain, value)]
    return {key: plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def converted(data_type: spark.DataType, values: list[Any], cut: int = 0) -> list[Any]:
    """Return values as sinks see them which Spark has in a column, from a row on."""
    column = pa.array(values, to_arrow_type(data_type, timezone="UTC")).slice(cut)
    form = ConnectColumn.of(data_type, "c")
    physical = form.convert(column)
    assert physical.type == arrow_type(form.schema)
    physical.validate(full=True)
    return [plain(value) for value in column_to_values(form.schema, physical)]


DECIMALS = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-70_000, 70_000)


@given(st.lists(st.none() | DECIMALS), st.integers(0, 3))
def test_decimals_have_javas_bytes(unscaled: list[int | None], cut: int) -> None:
    """The shortest of two's complement, whatever the slice."""
    values = [None if each is None else PythonDecimal(each).scaleb(-2) for each in unscaled]
    with_digits = [
        None if each is None else PythonDecimal((each < 0, tuple(map(int, str(abs(each)))), -2)) for each in unscaled
    ]
    column = pa.array(with_digits, pa.decimal128(38, 2)).slice(cut)
    form = ConnectColumn.of(spark.DecimalType(38, 2), "c")
    assert form.schema is not None
    found = form.convert(column)
    found.validate(full=True)
    schema = Decimal.schema(2)
    assert found.to_pylist() == [
        None if each is None else Decimal.from_logical(schema, each) for each in with_digits[cut:]
    ]
    assert len(values) == len(with_digits)


TIMES = st.none() | st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1), timezones=st.just(UTC))
ROWS = st.none() | st.fixed_dictionaries(
    {
        "id": st.integers(-(2**63), 2**63 - 1),
        "price": st.none() | st.decimals(-999_999, 999_999, places=3),
        "day": st.none() | st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)),
        "at": TIMES,
        "tags": st.none() | st.lists(TIMES, max_size=3),
        "sums": st.none()
        | st.dictionaries(st.text(max_size=3), st.none() | st.decimals(-999, 999, places=1), max_size=3),
        "inner": st.none() | st.fixed_dictionaries({"t": TIMES.map(lambda each: each and each.replace(tzinfo=None))}),
    }
)


def in_milliseconds(value: Any) -> Any:
    """Return what is left of a value where times have milliseconds, the earlier one of two."""
    if isinstance(value, dt.datetime):
        return value.replace(microsecond=value.microsecond // 1000 * 1000, tzinfo=UTC)
    if isinstance(value, list):
        return [*map(in_milliseconds, value)]
    return {key: in_milliseconds(each) for key, each in value.items()} if isinstance(value, dict) else value


@given(st.lists(ROWS, max_size=5), st.integers(0, 3))
def test_rows_survive_the_conversion(rows: list[Any], cut: int) -> None:
    """With all that is in them, at any depth, in any slice."""
    assert converted(ROW, rows, cut) == [in_milliseconds(row) for row in rows[cut:]]


def test_schema_has_nullability_comments_and_precision() -> None:
    """What may be null is optional, comments are documentation, decimals keep how many digits they have."""
    table = spark.StructType(
        [
            spark.StructField("id", spark.LongType(), nullable=False, metadata={"comment": "who"}),
            spark.StructField("price", spark.DecimalType(12, 3)),
        ]
    )
    schema = ConnectColumn.of(table, "", is_nullable=False).schema
    price = Decimal.builder(3).parameter("connect.decimal.precision", "12").optional().build()
    assert (
        schema
        == SchemaBuilder.struct().field("id", SchemaBuilder.int64().doc("who").build()).field("price", price).build()
    )


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        (spark.ByteType(), SchemaBuilder.int8()),
        (spark.ShortType(), SchemaBuilder.int16()),
        (spark.IntegerType(), SchemaBuilder.int32()),
        (spark.FloatType(), SchemaBuilder.float32()),
        (spark.DoubleType(), SchemaBuilder.float64()),
        (spark.BooleanType(), SchemaBuilder.boolean()),
        (spark.BinaryType(), SchemaBuilder.bytes()),
        (spark.VarcharType(3), SchemaBuilder.string()),
        (spark.NullType(), SchemaBuilder.string()),
        (spark.DateType(), Date.builder()),
        (spark.TimestampNTZType(), Timestamp.builder()),
        (spark.TimeType(6), Time.builder()),
    ],
)
def test_types_map_to_connect_schemas(kind: spark.DataType, schema: SchemaBuilder) -> None:
    """By the table of types."""
    assert ConnectColumn.of(kind, "c").schema == schema.optional().build()
    assert (
        ConnectColumn.of(spark.ArrayType(kind), "c").schema == SchemaBuilder.array(schema.build()).optional().build()
    )


def test_times_of_a_day_have_milliseconds() -> None:
    """As Connect's Time, wherever Spark knows the type."""
    at = dt.time(1, 2, 3, 4_567)
    assert converted(spark.TimeType(6), [at, None]) == [dt.time(1, 2, 3, 4_000), None]


def variants(*values: spark.VariantVal | None) -> Any:
    """Return a column of variants as Spark hands it over."""
    parts = [None if each is None else {"value": each.value, "metadata": each.metadata} for each in values]
    return pa.array(parts, pa.struct([("value", pa.binary()), ("metadata", pa.binary())]))


def test_a_variant_is_a_value_without_schema() -> None:
    """Its JSON text is what a column without schema holds; within a row it is a text."""
    one = spark.VariantVal.parseJson('{"a": [1, "b", null]}')
    form = ConnectColumn.of(spark.VariantType(), "c")
    assert form.schema is None
    assert column_to_values(None, form.convert(variants(one, None))) == [{"a": [1, "b", None]}, None]
    inside = ConnectColumn.of(spark.StructType([spark.StructField("v", spark.VariantType())]), "").schema
    assert inside is not None
    assert inside == SchemaBuilder.struct().field("v", SchemaBuilder.string().optional()).optional().build()


def test_unsupported_type_is_an_error_with_its_place() -> None:
    """And the error says what to do."""
    table = spark.StructType([spark.StructField("a", spark.ArrayType(spark.DayTimeIntervalType()))])
    with pytest.raises(ConfigError, match=r"column a\[\] is of type interval day to second") as caught:
        ConnectColumn.of(table, "")
    assert caught.value.hint is not None
    assert "cast" in caught.value.hint


def test_every_connect_type_is_supported() -> None:
    """A sink gets from a DataFrame what it may get from a topic."""
    kinds = [spark.ByteType(), spark.ShortType(), spark.IntegerType(), spark.LongType(), spark.FloatType(),
             spark.DoubleType(), spark.BooleanType(), spark.StringType(), spark.BinaryType(),
             spark.ArrayType(spark.LongType()),
             spark.MapType(spark.StringType(), spark.LongType()), spark.StructType([])]  # fmt: skip
    schemas: list[Schema | None] = [ConnectColumn.of(kind, "c").schema for kind in kinds]
    assert {schema.type for schema in schemas if schema is not None} == {*Type}
