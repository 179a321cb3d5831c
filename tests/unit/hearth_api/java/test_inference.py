"""A schema is found for values that have none."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pytest

from hearth_api import (
    BOOLEAN_SCHEMA,
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
from hearth_api.java import infer_schema

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
    """Mixed and empty containers have no schema, the others that of their members."""
    assert infer_schema(value) == schema
