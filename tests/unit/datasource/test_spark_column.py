"""Conversion of record columns to Spark: rows have the values of records for any schema."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import VariantType, VariantVal

from hearth.datasource.spark_column import ColumnMismatch, converter, variants
from hearth.datasource.spark_type import PRECISION, read_schema, spark_type
from hearth_api import (
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    Date,
    Decimal,
    Field,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
    Type,
)
from hearth_api.batch import arrow_type, values_to_column
from tests.unit.hearth_api.strategy import schemas, values

UTC = dt.timezone.utc


def converted(schema: Schema | None, column: Any, target: Any = None) -> list[Any]:
    """Return the values of a column for Spark."""
    wanted = target or to_arrow_type(spark_type(schema), timezone="UTC")
    made = converter(schema, wanted, "value")(column)
    assert made.type == wanted
    made.validate(full=True)
    rows: list[Any] = made.to_pylist()
    return rows


def expected(schema: Schema | None, value: Any) -> Any:
    """Return a value of a record as a row has it."""
    if value is None or schema is None:
        return None
    if schema.name == Time.LOGICAL_NAME:
        return (value.hour * 3600 + value.minute * 60 + value.second) * 1000 + value.microsecond // 1000
    if schema.name == Decimal.LOGICAL_NAME and spark_type(schema).simpleString() == "string":
        return f"{value:f}"
    if schema.name in (Date.LOGICAL_NAME, Timestamp.LOGICAL_NAME, Decimal.LOGICAL_NAME):
        return value
    if schema.type is Type.ARRAY:
        return [expected(schema.value_schema, each) for each in value]
    if schema.type is Type.MAP:
        return [(expected(schema.key_schema, key), expected(schema.value_schema, each)) for key, each in value.items()]
    if schema.type is Type.STRUCT:
        return {field.name: expected(field.schema, held(value, field)) for field in schema.fields}
    return value


def held(value: Struct, field: Field) -> Any:
    """Return what a field holds: its default only where it must hold something."""
    return value.get_without_default(field.name) if field.schema.optional else value.get(field.name)


def shown(rows: list[Any]) -> str:
    """Return rows as text, because NaN equals nothing."""
    return repr(rows).replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc").replace(", fold=1", "")


@given(st.data())
def test_rows_have_the_values_of_records(data: st.DataObject) -> None:
    """Logical types as Spark's own, at any depth, and also in a part of a batch."""
    schema = data.draw(schemas())
    records = data.draw(st.lists(st.none() | values(schema), min_size=1, max_size=6))
    column = values_to_column(schema, records)
    try:
        found = converted(schema, column)
    except (ConnectError, pa.ArrowInvalid):
        return  # decimals of too many digits, instants beyond Spark's
    wanted = [expected(schema, value) for value in records]
    assert shown(found) == shown(wanted)
    start = data.draw(st.integers(0, len(records) - 1))
    assert shown(converted(schema, column.slice(start))) == shown(found[start:])


_FEW = st.sampled_from([0, -1, 127, 128, -128, -129])
NUMBERS = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-300, 300) | _FEW


@given(st.lists(st.none() | NUMBERS, max_size=8), st.integers(0, 3), st.integers(0, 4))
def test_decimals_are_exact(numbers: list[int | None], scale: int, padding: int) -> None:
    """However many bytes they come in, also more than they need."""
    raw = [
        None if each is None else each.to_bytes(each.bit_length() // 8 + 1 + padding, "big", signed=True)
        for each in [7, *numbers]
    ]
    column = pa.array(raw, pa.binary()).slice(1)
    exact = decimal.Context(prec=60)
    wanted = [None if each is None else exact.scaleb(each, -scale) for each in numbers]
    assert converted(Decimal.schema(scale), column) == wanted


def test_decimal_with_too_many_digits_is_an_error() -> None:
    """Rather than another number."""
    for number in (10**38, -(10**38), 10**60):
        raw = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
        with pytest.raises(ConnectError, match="more digits"):
            converted(Decimal.schema(2), pa.array([raw], pa.binary()))


def test_precision_is_taken_from_the_schema() -> None:
    """Where it says one that Spark has; a scale that Spark lacks is text."""
    builder = SchemaBuilder.bytes().name(Decimal.LOGICAL_NAME).parameter("scale", "2").version(1)
    assert spark_type(builder.parameter(PRECISION, "10").build()).simpleString() == "decimal(10,2)"
    assert spark_type(Decimal.schema(2)).simpleString() == "decimal(38,2)"
    negative = Decimal.schema(-3)
    assert spark_type(negative).simpleString() == "string"
    assert converted(negative, values_to_column(negative, [decimal.Decimal("5E+3")])) == ["5000"]


def test_structs_are_narrower_or_wider_as_the_dataframe_has_them() -> None:
    """Fields are found by name, and numbers may be wider."""
    schema = SchemaBuilder.struct().field("a", INT8_SCHEMA).field("b", STRING_SCHEMA).build()
    value = Struct(schema)
    value.put("a", 5)
    value.put("b", "x")
    target = pa.struct([("b", pa.string()), ("c", pa.int32()), ("a", pa.int64())])
    assert converted(schema, values_to_column(schema, [value, None]), target) == [{"b": "x", "c": None, "a": 5}, None]


@pytest.mark.parametrize(
    ("schema", "target"),
    [(STRING_SCHEMA, pa.int32()), (INT64_SCHEMA, pa.int32()), (INT32_SCHEMA, pa.string()), (None, pa.int32()),
     (Decimal.schema(2), pa.decimal128(38, 3)), (INT64_SCHEMA, pa.float64()), (Timestamp.SCHEMA, pa.string())],
)  # fmt: skip
def test_lossy_conversion_is_an_error(schema: Schema | None, target: Any) -> None:
    """The error names both types and the remedy."""
    with pytest.raises(ColumnMismatch, match=str(target).split("(")[0]) as raised:
        converted(schema, pa.nulls(1, arrow_type(schema)), target)
    assert ".schema" in str(raised.value.hint)


def test_times_of_day_are_spark_s_own_where_the_dataframe_has_them() -> None:
    """Spark has the type where somebody turned it on."""
    column = values_to_column(Time.SCHEMA, [dt.time(1, 2, 3, 4000)])
    assert converted(Time.SCHEMA, column, pa.time64("ns")) == [dt.time(1, 2, 3, 4000)]


def test_a_read_has_eight_columns() -> None:
    """In an order that programs may rely on."""
    names = "topic key value headers timestamp partition source_partition source_offset"
    assert read_schema(spark_type(None), spark_type(None)).names == names.split()


def test_null_becomes_the_default_only_in_a_required_field() -> None:
    """A row can hold null where the schema is optional; elsewhere it holds what the record means."""
    fields = SchemaBuilder.struct().field("must", SchemaBuilder.int32().default(5).build())
    pair = SchemaBuilder.struct().field("a", INT32_SCHEMA).build()
    fields = fields.field("may", SchemaBuilder.int32().optional().default(6).build())
    fields = fields.field(
        "pair", SchemaBuilder.struct().field("a", INT32_SCHEMA).default(Struct(pair).put("a", 7)).build()
    )
    schema = fields.build()
    given = Struct(schema).put("must", 1).put("may", 2).put("pair", Struct(schema.fields[2].schema).put("a", 3))
    column = values_to_column(schema, [Struct(schema), None, given])
    rows = [{"must": 5, "may": None, "pair": {"a": 7}}, None, {"must": 1, "may": 2, "pair": {"a": 3}}]
    assert converted(schema, column) == rows
    assert converted(schema, column.slice(1)) == rows[1:]


def test_variants_are_in_sparks_form() -> None:
    """Each is what its JSON says; null is no variant of null."""
    texts = pa.array(['"left out"', '{"a":[1,"b",null,12345678901234567890.5]}', None, "7"], pa.binary()).slice(1)
    made = variants(texts)
    made.validate(full=True)
    assert made.type == to_arrow_type(VariantType())
    rows = [None if each is None else VariantVal(**each).toPython() for each in made.to_pylist()]
    assert rows == [{"a": [1, "b", None, decimal.Decimal("12345678901234567890.5")]}, None, 7]
    assert variants(pa.array([], pa.string())).type == to_arrow_type(VariantType())


def test_invalid_variant_is_an_error() -> None:
    """With the way out."""
    with pytest.raises(ConnectError, match="cannot be converted to a variant") as raised:
        variants(pa.array(["no json"]))
    assert "hearth.value json" in str(raised.value.hint)
