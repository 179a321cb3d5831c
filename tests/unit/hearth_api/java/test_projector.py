"""Values are projected onto a compatible schema."""

from __future__ import annotations

from typing import Any

import pytest

from hearth_api import (
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    SchemaBuilder,
    Struct,
)
from hearth_api.java import SchemaProjectorError, project

DEFAULT = SchemaBuilder.int32().default(7).build()


@pytest.mark.parametrize(
    ("source", "value", "target", "expected"),
    [
        (INT8_SCHEMA, 5, INT64_SCHEMA, 5),
        (INT64_SCHEMA, 16777217, FLOAT32_SCHEMA, 16777216.0),
        (OPTIONAL_INT32_SCHEMA, None, DEFAULT, 7),
        (OPTIONAL_INT32_SCHEMA, 1, DEFAULT, 1),
        (OPTIONAL_INT32_SCHEMA, None, OPTIONAL_INT32_SCHEMA, None),
        (SchemaBuilder.array(INT8_SCHEMA).build(), [1], SchemaBuilder.array(FLOAT32_SCHEMA).build(), [1.0]),
        (
            SchemaBuilder.map(INT8_SCHEMA, STRING_SCHEMA).build(),
            {1: "x"},
            SchemaBuilder.map(INT32_SCHEMA, OPTIONAL_STRING_SCHEMA).build(),
            {1: "x"},
        ),
    ],
)
def test_values_are_projected(source: Schema, value: Any, target: Schema, expected: Any) -> None:
    """Numbers widen, including inside containers, and defaults replace nulls."""
    projected = project(source, value, target)
    assert projected == expected
    assert type(projected) is type(expected)


def test_fields_are_matched_by_name() -> None:
    """Fields missing from the target are dropped; those missing from the source get a default or stay unset."""
    source = SchemaBuilder.struct().field("a", INT8_SCHEMA).field("x", STRING_SCHEMA).build()
    target = (
        SchemaBuilder.struct().field("o", OPTIONAL_STRING_SCHEMA).field("d", DEFAULT).field("a", INT64_SCHEMA).build()
    )
    projected = project(source, Struct(source).put("a", 1).put("x", "y"), target)
    assert str(projected) == "Struct{d=7,a=1}"


@pytest.mark.parametrize(
    ("source", "target", "text"),
    [
        (INT64_SCHEMA, INT32_SCHEMA, "Schema type mismatch. source type: INT64 and target type: INT32"),
        (STRING_SCHEMA, INT32_SCHEMA, "Schema type mismatch. source type: STRING and target type: INT32"),
        (INT32_SCHEMA, SchemaBuilder.int32().name("n").build(), "Schema name mismatch"),
        (INT32_SCHEMA, SchemaBuilder.int32().parameter("a", "b").build(), "Schema parameters not equal"),
        (OPTIONAL_INT32_SCHEMA, INT32_SCHEMA, "target schema does not provide a default value"),
    ],
)
def test_incompatible_schemas_are_refused(source: Schema, target: Schema, text: str) -> None:
    """Nothing is narrowed, renamed or guessed."""
    with pytest.raises(SchemaProjectorError) as error:
        project(source, None, target)
    assert text in str(error.value)


def test_missing_required_field_is_named() -> None:
    """The message names the field, and the cause names the error inside it."""
    empty = SchemaBuilder.struct().build()
    target = SchemaBuilder.struct().field("a", INT32_SCHEMA).build()
    with pytest.raises(SchemaProjectorError, match="Required field `a` is missing from source schema"):
        project(empty, Struct(empty), target)
    source = SchemaBuilder.struct().field("a", STRING_SCHEMA).build()
    with pytest.raises(SchemaProjectorError, match="Error projecting a") as error:
        project(source, Struct(source).put("a", "x"), target)
    assert "type mismatch" in str(error.value.__cause__)
