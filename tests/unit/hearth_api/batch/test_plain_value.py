"""Plain JSON values are distinguished from those that need a tag, another form or a refusal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    Schema,
    SchemaBuilder,
    Type,
)
from hearth_api.batch.plain_value import is_plain
from hearth_api.batch.wire import plain_to_json, value_to_json
from hearth_api.java import from_physical, to_physical
from hearth_api.schema import deep_key
from tests.unit.hearth_api.strategy import SCHEMALESS, schemas, values

NUMBERS = SchemaBuilder.array(INT8_SCHEMA).build()
TEXTS = SchemaBuilder.map(STRING_SCHEMA, OPTIONAL_STRING_SCHEMA).build()


@given(st.none() | schemas(2), st.data())
def test_plain_value_is_the_json_of_its_physical_form(schema: Schema | None, data: st.DataObject) -> None:
    """With its own schema or any other that it fits."""
    value = data.draw(SCHEMALESS | (SCHEMALESS if schema is None else values(schema)))
    if is_plain(schema, value):
        assert value_to_json(schema, value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if schema is not None:
            assert deep_key(to_physical(schema, value)) == deep_key(from_physical(schema, value)) == deep_key(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (None, {"a": [1, "x", None, True, 1.5, {}]}),
        (NUMBERS, [1, -128, 127]),
        (NUMBERS, None),
        (TEXTS, {"a": "x", "b": None}),
        (Schema(Type.MAP, key_schema=STRING_SCHEMA), {"a": 1, "b": [1, "1"]}),
        (Schema(Type.ARRAY, value_schema=FLOAT32_SCHEMA), [1.5]),
    ],
)
def test_lists_and_maps_of_plain_values_are_plain(schema: Schema | None, value: Any) -> None:
    """With a schema or without."""
    assert is_plain(schema, value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (NUMBERS, [128]),
        (NUMBERS, ["a"]),
        (NUMBERS, {}),
        (TEXTS, []),
        (TEXTS, {"a": 1}),
        (TEXTS, {1: "a"}),
        (None, {1: "a"}),
        (None, {"@date": 1}),
        (None, [float("nan")]),
        (None, (1,)),
        (None, b""),
        (Date.SCHEMA, 1),
        (Schema(Type.ARRAY, value_schema=Date.SCHEMA), [1]),
        (Schema(Type.MAP, key_schema=INT8_SCHEMA), {"a": 1}),
        (FLOAT32_SCHEMA, 1),
        (INT8_SCHEMA, True),
    ],
)
def test_other_values_are_not_plain(schema: Schema | None, value: Any) -> None:
    """They need a tag, another physical form, or a refusal."""
    assert not is_plain(schema, value)


def test_deeply_nested_or_cyclic_values_are_not_plain() -> None:
    """Python code handles them, whose stack is limited."""
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    assert not is_plain(None, deep)
    assert is_plain(None, deep[0])
    endless: list[Any] = []
    endless.append(endless)
    assert not is_plain(None, endless)
    with pytest.raises((DataError, ValueError, RecursionError)):
        plain_to_json(endless)
