"""Texts of JSON Schemas, as the Java converter registers them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hearth_api import (
    BOOLEAN_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
)
from hearth_registry.json_schema_format import JsonSchemaFormat
from hearth_registry.json_schema_setting import JsonSchemaSettings

ENUM = "io.confluent.connect.json.Enum"
ANY_ENUM = "org.apache.kafka.connect.data.Enum"
MANY = "zeta alpha customer_id order_id amount created_at status description id name x y quantity price"
MANY_ORDERED = "zeta amount quantity created_at description price alpha name x y id customer_id order_id status"


def text(schema: Schema, **config: str) -> str:
    """Return the JSON Schema of a Connect schema; keys are written with underscores here."""
    configs = {key.replace("_", "."): value for key, value in config.items()}
    return (
        JsonSchemaFormat(JsonSchemaSettings({"schema.registry.url": "mock://t", **configs}))
        .schema_of(schema)
        .text.text
    )


def enum(name: str, symbols: dict[str, str]) -> Schema:
    """Return the schema of an enum."""
    builder = SchemaBuilder.string().parameter(name, "")
    for symbol, value in symbols.items():
        builder.parameter(f"{name}.{symbol}", value)
    return builder.build()


def struct(**fields: Schema) -> SchemaBuilder:
    """Start a struct of some fields."""
    builder = SchemaBuilder.struct()
    for name, schema in fields.items():
        builder.field(name, schema)
    return builder


GOLDEN: list[tuple[Schema, dict[str, str], str]] = [
    (
        struct(
            a=SchemaBuilder.int32().optional().default(5).build(),
            b=OPTIONAL_INT32_SCHEMA,
            c=SchemaBuilder.string().default("x").build(),
        ).name("com.acme.Opt").build(),
        {},
        '{"type":"object","title":"com.acme.Opt","properties":{"a":{"connect.index":0,"oneOf":[{"type":"null"},'
        '{"type":"integer","default":5,"connect.type":"int32"}]},"b":{"connect.index":1,"oneOf":[{"type":"null"},'
        '{"type":"integer","connect.type":"int32"}]},"c":{"type":"string","default":"x","connect.index":2}}}',
    ),
    (
        struct(int32=INT32_SCHEMA).name("io.confluent.test.TestSchema").version(12).doc("doc").build(),
        {"object_additional_properties": "false"},
        '{"type":"object","additionalProperties":false,"title":"io.confluent.test.TestSchema","description":"doc",'
        '"connect.version":12,"properties":{"int32":{"type":"integer","connect.index":0,"connect.type":"int32"}}}',
    ),
    (
        SchemaBuilder.map(OPTIONAL_STRING_SCHEMA, INT32_SCHEMA).build(),
        {},
        '{"type":"array","connect.type":"map","items":{"type":"object","properties":{"value":{"type":"integer",'
        '"connect.index":1,"connect.type":"int32"},"key":{"connect.index":0,"oneOf":[{"type":"null"},'
        '{"type":"string"}]}}}}',
    ),
    (
        SchemaBuilder.map(STRING_SCHEMA, BOOLEAN_SCHEMA).optional().build(),
        {},
        '{"oneOf":[{"type":"null"},{"type":"object","connect.type":"map","additionalProperties":{"type":"boolean"}}]}',
    ),
    (
        Decimal.schema(4),
        {"decimal_format": "numeric"},
        '{"type":"number","title":"org.apache.kafka.connect.data.Decimal","connect.version":1,"connect.type":"bytes",'
        '"connect.parameters":{"scale":"4"}}',
    ),
    (
        Timestamp.SCHEMA,
        {},
        '{"type":"integer","title":"org.apache.kafka.connect.data.Timestamp","connect.version":1,'
        '"connect.type":"int64"}',
    ),
    (enum(ENUM, {"one": "one", "two": "two", "<NULL>": "<NULL>"}), {}, '{"enum":[null,"one","two"]}'),
    (
        enum(ANY_ENUM, {"one": "0", "two": "1"}),
        {"generalized_sum_type_support": "true"},
        '{"enum":["one","two"],"connect.parameters":{"org.apache.kafka.connect.data.Enum.two":"1",'
        '"org.apache.kafka.connect.data.Enum":"","org.apache.kafka.connect.data.Enum.one":"0"}}',
    ),
    (
        struct(i=OPTIONAL_INT32_SCHEMA, s=OPTIONAL_STRING_SCHEMA)
        .name("io.confluent.connect.json.OneOf")
        .optional()
        .build(),
        {},
        '{"oneOf":[{"type":"null"},{"type":"integer","connect.index":0,"connect.type":"int32"},'
        '{"type":"string","connect.index":1}]}',
    ),
    (
        SchemaBuilder.array(struct(n=INT64_SCHEMA).optional().build()).doc("é😀\x01").build(),
        {},
        '{"type":"array","description":"é😀\\u0001","items":{"oneOf":[{"type":"null"},{"type":"object","properties":'
        '{"n":{"type":"integer","connect.index":0,"connect.type":"int64"}}}]}}',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "config", "expected"), GOLDEN)
def test_a_schema_becomes_the_text_that_Java_registers(schema: Schema, config: dict[str, str], expected: str) -> None:
    """The pairs were got from the Java converter, or are put together from parts of them."""
    assert text(schema, **config) == expected


def test_members_have_the_order_of_Javas_hash_tables() -> None:
    """A registry compares texts: members in another order would be another schema."""
    schema = struct(**dict.fromkeys(MANY.split(), BOOLEAN_SCHEMA)).build()
    assert list(json.loads(text(schema))["properties"]) == MANY_ORDERED.split()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (SchemaBuilder.float32().default(1.0), "1"),
        (SchemaBuilder.float64().default(1e20), "1.0E+20"),
        (SchemaBuilder.float64().default(1e-5), "0.000010"),
        (SchemaBuilder.boolean().default(False), "false"),
        (SchemaBuilder.bytes().default(b"foo"), '"Zm9v"'),
        (SchemaBuilder.array(SchemaBuilder.float64()).default([1.0, 2.5]), "[1,2.5]"),
    ],
)
def test_a_default_is_printed_as_it_is_after_it_was_a_Java_number(schema: SchemaBuilder, expected: str) -> None:
    """Numbers lose needless zeros, and get the plus of a big decimal."""
    assert f'"default":{expected}' in text(schema.build())


def test_a_struct_cannot_be_a_default() -> None:
    """Java's struct has another schema than the one it is the default of."""
    inner = struct(a=INT32_SCHEMA).build()
    schema = Schema(inner.type, default=Struct(inner).put("a", 1), fields=inner.fields)
    with pytest.raises(DataError, match=r"^Mismatching schema\.$"):
        text(schema)


def test_a_schema_with_an_id_is_written_once_and_referred_to() -> None:
    """Only that parameter makes references; other schemas are written wherever they occur."""
    parameters = {"io.confluent.connect.json.Id": "#id1"}
    inner = struct(a=INT32_SCHEMA).parameters(parameters).build()
    found: dict[str, Any] = json.loads(text(struct(x=inner, y=inner).build()))["properties"]
    assert found["x"]["id"] == "#id1"
    assert found["y"] == {"$ref": "#id1"}
