"""Schemas have the form of Kafka Connect's JSON converter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from hearth_api import (
    BYTES_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    DataError,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Type,
)
from hearth_api.java import schema_from_json, schema_from_text, schema_to_json, schema_to_text
from tests.unit.hearth_api.strategy import schemas


@given(schemas())
def test_schemas_come_back(schema: Schema) -> None:
    """Every part of a schema survives JSON, defaults included."""
    assert schema_from_json(json.loads(json.dumps(schema_to_json(schema)))) == schema
    assert schema_from_text(schema_to_text(schema)) == schema


def test_members_have_kafkas_order() -> None:
    """Kafka's own converter produced this text."""
    schema = (
        SchemaBuilder.struct()
        .field("a", SchemaBuilder.int32().default(4))
        .field("b", OPTIONAL_STRING_SCHEMA)
        .name("N").version(3).doc("D").parameter("p", "q").build()
    )  # fmt: skip
    assert schema_to_text(schema) == (
        '{"type":"struct","fields":[{"type":"int32","optional":false,"default":4,"field":"a"},'
        '{"type":"string","optional":true,"field":"b"}],"optional":false,"name":"N","version":3,"doc":"D",'
        '"parameters":{"p":"q"}}'
    )


def test_arrays_and_maps_have_inner_schemas() -> None:
    """Arrays have items, maps keys and values; those of mixed types have neither."""
    schema = SchemaBuilder.map(INT32_SCHEMA, SchemaBuilder.array(BYTES_SCHEMA)).build()
    assert schema_to_json(schema) == {
        "type": "map",
        "keys": {"type": "int32", "optional": False},
        "values": {"type": "array", "items": {"type": "bytes", "optional": False}, "optional": False},
        "optional": False,
    }
    assert schema_to_json(Schema(Type.ARRAY)) == {"type": "array", "optional": False}
    assert schema_from_json({"type": "array"}) == Schema(Type.ARRAY)


def test_defaults_are_physical() -> None:
    """Bytes are base64, a struct is an object, NaN is text."""
    inner = SchemaBuilder.struct().field("x", SchemaBuilder.float64()).build()
    struct = SchemaBuilder.struct().field("s", SchemaBuilder.struct().field("x", SchemaBuilder.float64()))
    default = Struct(struct.build()).put("s", Struct(inner).put("x", float("nan")))
    assert schema_to_json(struct.default(default).build())["default"] == {"s": {"x": "NaN"}}


def test_same_text_gives_the_same_object() -> None:
    """Batches of one stream compare their schemas by identity."""
    text = schema_to_text(Decimal.schema(2))
    assert schema_from_text(text) is schema_from_text(text)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({}, "Schema must contain 'type' field"),
        ([], "Schema must contain 'type' field"),
        ({"type": "weird"}, "Unknown schema type: weird"),
        ({"type": "struct"}, 'Struct schema\'s "fields" argument is not an array.'),
        ({"type": "struct", "fields": [{"type": "int8"}]}, "Struct schema's field name not specified properly"),
        ({"type": "bytes", "default": "*"}, "Invalid bytes field"),
    ],
)
def test_invalid_json_schemas_are_refused(form: Any, text: str) -> None:
    """The messages are Kafka Connect's."""
    with pytest.raises(DataError) as error:
        schema_from_json(form)
    assert str(error.value) == text
