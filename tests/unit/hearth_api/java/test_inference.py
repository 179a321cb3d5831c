"""Schemas are inferred for values without one."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pytest

from hearth_api import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    STRING_SCHEMA,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
)
from hearth_api.java import infer_schema, java_class

STRUCT = SchemaBuilder.struct().build()


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (True, BOOLEAN_SCHEMA),
        (1, INT64_SCHEMA),
        ("x", STRING_SCHEMA),
        (decimal.Decimal("1.50"), Decimal.schema(2)),
        (decimal.Decimal("NaN"), None),
        (dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), Timestamp.SCHEMA),
        (dt.date(2020, 1, 1), Date.SCHEMA),
        (dt.time(1), Time.SCHEMA),
        (Struct(STRUCT), STRUCT),
        ([1, None], SchemaBuilder.array(OPTIONAL_INT64_SCHEMA).build()),
        ({"a": [1]}, SchemaBuilder.map(STRING_SCHEMA, SchemaBuilder.array(INT64_SCHEMA)).build()),
        ([1, "x"], None),
        ([], None),
        ([None], None),
        ({}, None),
        (None, None),
        (object(), None),
    ],
)
def test_schema_follows_from_the_class(value: Any, schema: Schema | None) -> None:
    """Mixed and empty containers have no schema; others have that of their members."""
    assert infer_schema(value) == schema


@pytest.mark.parametrize(
    ("value", "schema", "name"),
    [
        (None, None, "null"),
        (5, None, "java.lang.Long"),
        (1 << 63, INT8_SCHEMA, "java.math.BigInteger"),
        (5, INT8_SCHEMA, "java.lang.Byte"),
        (5, FLOAT32_SCHEMA, "java.lang.Long"),
        (True, INT8_SCHEMA, "java.lang.Boolean"),
        (0.5, FLOAT32_SCHEMA, "java.lang.Float"),
        (0.5, STRING_SCHEMA, "java.lang.Double"),
        ("5", INT8_SCHEMA, "java.lang.String"),
        (b"", None, "[B"),
        (dt.date(2020, 1, 2), Date.SCHEMA, "java.util.Date"),
        (Struct(STRUCT), STRUCT, "org.apache.kafka.connect.data.Struct"),
        (object(), None, "object"),
    ],
)
def test_java_class_of_a_value(value: Any, schema: Schema | None, name: str) -> None:
    """A schema determines the size of numbers, and nothing else of a value that does not fit it."""
    assert java_class(value, schema) == name
