"""A value fits its schema, or the error says why not."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
    Type,
    validate_value,
)
from tests.unit.hearth_api.strategy import schemas, values

LIMITS = [(INT8_SCHEMA, 7), (INT16_SCHEMA, 15), (INT32_SCHEMA, 31), (INT64_SCHEMA, 63)]


@given(st.data())
def test_fitting_values_pass(data: st.DataObject) -> None:
    """Every value that a schema describes passes."""
    schema = data.draw(schemas())
    validate_value(schema, data.draw(values(schema)))


@pytest.mark.parametrize(("schema", "bits"), LIMITS)
def test_integers_have_a_range(schema: Schema, bits: int) -> None:
    """The minimum and maximum of a type pass, their neighbours do not."""
    for value in (-(1 << bits), (1 << bits) - 1):
        validate_value(schema, value)
    for value in (-(1 << bits) - 1, 1 << bits):
        with pytest.raises(DataError, match="out of range for value, schema type: INT"):
            validate_value(schema, value)


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (INT32_SCHEMA, True, "with type INT32: class bool for value"),
        (INT32_SCHEMA, 1.0, "with type INT32: class float for value"),
        (FLOAT64_SCHEMA, 1, "with type FLOAT64: class int for value"),
        (BOOLEAN_SCHEMA, 1, "with type BOOLEAN: class int for value"),
        (STRING_SCHEMA, b"", "with type STRING: class bytes for value"),
        (BYTES_SCHEMA, "", "with type BYTES: class str for value"),
        (SchemaBuilder.array(INT32_SCHEMA).build(), ["x"], "class str for element of array value"),
        (SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build(), {1: 1}, "class int for key of map value"),
        (SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build(), {"a": ""}, "class str for value of map value"),
        (Decimal.schema(2), b"x", 'Decimal" with type BYTES: class bytes for value'),
        (Timestamp.SCHEMA, 5, 'Timestamp" with type INT64: class int for value'),
        (Date.SCHEMA, dt.datetime(2020, 1, 1), 'Date" with type INT32: class datetime for value'),
        (Time.SCHEMA, dt.date(2020, 1, 1), 'Time" with type INT32: class date for value'),
        (Timestamp.SCHEMA, dt.datetime(2020, 1, 1), "datetime without time zone used for value"),
        (SchemaBuilder.struct().build(), {}, "with type STRUCT: class dict for value"),
        (Schema(Type.ARRAY), [1], "No schema defined for element of array value"),
        (INT32_SCHEMA, None, "Invalid value: null used for required value, schema type: INT32"),
    ],
)
def test_error_names_value_and_place(schema: Schema, value: Any, text: str) -> None:
    """The message names what was found, what was expected, and where."""
    with pytest.raises(DataError) as error:
        validate_value(schema, value)
    assert text in str(error.value)


def test_struct_must_have_the_schema_itself() -> None:
    """A struct of another schema does not fit, however similar."""
    wanted = SchemaBuilder.struct().field("a", INT32_SCHEMA).build()
    given = SchemaBuilder.struct().field("a", OPTIONAL_INT32_SCHEMA).build()
    with pytest.raises(DataError, match=r"Struct schemas do not match\."):
        validate_value(wanted, Struct(given))


def test_inner_structs_are_complete() -> None:
    """A struct inside a value must have its required fields, too."""
    inner = SchemaBuilder.struct().field("a", INT32_SCHEMA).build()
    with pytest.raises(DataError, match='null used for required field: "a"'):
        validate_value(SchemaBuilder.array(inner).build(), [Struct(inner)])


def test_logical_values_pass() -> None:
    """Dates, times, timestamps and decimals have Python's classes."""
    validate_value(Decimal.schema(1), decimal.Decimal("1.5"))
    validate_value(Date.SCHEMA, dt.date(2020, 1, 1))
    validate_value(Time.SCHEMA, dt.time(1))
    validate_value(Timestamp.SCHEMA, dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc))


INNER = st.sampled_from(
    [INT8_SCHEMA, INT64_SCHEMA, OPTIONAL_INT32_SCHEMA, FLOAT64_SCHEMA, BOOLEAN_SCHEMA, STRING_SCHEMA, BYTES_SCHEMA,
     Decimal.schema(0), Date.SCHEMA, Timestamp.SCHEMA, SchemaBuilder.int8().name("small").build()]
)  # fmt: skip
ANYTHING = st.sampled_from(
    [0, -128, 128, 1 << 63, True, 0.5, "x", b"x", bytearray(b"y"), None, decimal.Decimal(1), dt.date(2020, 1, 1),
     dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)]
)  # fmt: skip


def fault(schema: Schema, *values: Any) -> str | None:
    """Return the error of the first value that does not fit, at any position."""
    for value in values:
        try:
            validate_value(schema, value)
        except DataError as error:
            return str(error).split(" for ")[0]
    return None


@given(INNER, st.lists(ANYTHING, max_size=4))
def test_collections_are_validated_like_single_values(schema: Schema, values: list[Any]) -> None:
    """An array or a map is refused for the reason for which one of its values is refused alone."""
    alone = fault(schema, *values)
    assert fault(SchemaBuilder.array(schema).build(), values) == alone
    assert fault(SchemaBuilder.map(INT64_SCHEMA, schema).build(), dict(enumerate(values))) == alone
