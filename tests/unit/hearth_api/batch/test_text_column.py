"""Texts of columns, compared with the texts of single values."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth_api import OPTIONAL_INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, SchemaBuilder, Struct
from hearth_api.batch import column_to_texts, values_to_column
from hearth_api.java import java_text
from tests.unit.hearth_api.strategy import schemas, values


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_texts_equal_those_of_single_values(data: st.DataObject) -> None:
    """For any schema, including nulls."""
    schema = data.draw(schemas())
    rows: list[Any] = data.draw(st.lists(st.none() | values(schema), max_size=6))
    wanted = [None if row is None else java_text(row, schema) for row in rows]
    assert column_to_texts(schema, values_to_column(schema, rows)) == wanted


def test_null_field_is_omitted() -> None:
    """As in Java's Struct; field names may contain format characters."""
    schema = SchemaBuilder.struct().field("a%s", OPTIONAL_INT64_SCHEMA).field("b", OPTIONAL_STRING_SCHEMA).build()
    rows = [Struct(schema).put("a%s", 1).put("b", ""), Struct(schema).put("b", "x"), Struct(schema), None]
    texts = column_to_texts(schema, values_to_column(schema, rows))
    assert texts == ["Struct{a%s=1,b=}", "Struct{b=x}", "Struct{}", None]
    whole = column_to_texts(schema, values_to_column(schema, rows[:1]))
    assert whole == ["Struct{a%s=1,b=}"]
