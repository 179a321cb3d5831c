"""JSON Schemas read as Connect schemas, with the choices of the Java converter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_FLOAT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Schema,
    SchemaBuilder,
    Type,
)
from hearth_registry import json_schema_reader
from hearth_registry.json_schema_format import JsonSchemaFormat
from hearth_registry.json_schema_setting import JsonSchemaSettings
from hearth_registry.schema_format import PayloadError
from hearth_registry.schema_text import JSON, SchemaText
from tests.unit.plugins.registry.test_json_schema_text import ENUM, GOLDEN, struct

ONE_OF = "io.confluent.connect.json.OneOf"


def read(form: Any, references: dict[str, str] | None = None, version: int | None = None, **config: str) -> Schema:
    """Return the Connect schema of a JSON Schema; keys are written with underscores here."""
    configs = {key.replace("_", "."): value for key, value in config.items()}
    made = JsonSchemaFormat(JsonSchemaSettings({"schema.registry.url": "mock://t", **configs}))
    text = SchemaText(JSON, form if isinstance(form, str) else json.dumps(form))
    schema = made.reader(made.parse(text, references or {}), (), None, version).schema
    assert schema is not None
    return schema


@pytest.mark.parametrize(("schema", "config", "text"), [case for case in GOLDEN if "OneOf" not in repr(case)])
def test_a_written_schema_is_read_unchanged(schema: Schema, config: dict[str, str], text: str) -> None:
    """Names, versions, defaults, parameters and the order of fields come back."""
    assert read(text, **config) == schema  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"type": "integer"}, INT64_SCHEMA),
        ({"type": "number", "title": "n"}, SchemaBuilder.float64().name("n").build()),
        ({"type": ["string", "null"]}, OPTIONAL_STRING_SCHEMA),
        ({"anyOf": [{"type": "null"}, {"type": "number"}]}, OPTIONAL_FLOAT64_SCHEMA),
        ({"oneOf": [{"type": "string"}]}, STRING_SCHEMA),
        ({"type": "integer", "format": "int32"}, INT64_SCHEMA),
        ({"type": "string", "format": "date"}, STRING_SCHEMA),
        (
            {"type": "string", "enum": ["a", None]},
            SchemaBuilder.string().parameters({ENUM: "", f"{ENUM}.a": "a", f"{ENUM}.<NULL>": "<NULL>"}).build(),
        ),
        ({"const": 5}, SchemaBuilder.string().parameters({ENUM: "", f"{ENUM}.5": "5"}).build()),
        (
            {"oneOf": [{"type": "null"}, {"type": "string"}, {"type": "number"}], "title": "t"},
            SchemaBuilder.struct()
            .name(ONE_OF)
            .optional()
            .field(f"{ONE_OF}.field.0", OPTIONAL_STRING_SCHEMA)
            .field(f"{ONE_OF}.field.1", OPTIONAL_FLOAT64_SCHEMA)
            .build(),
        ),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}]},
            struct(a=STRING_SCHEMA, b=INT64_SCHEMA).build(),
        ),
        ({"type": "object", "additionalProperties": {"type": "string"}}, SchemaBuilder.struct().build()),
        ({"type": "array", "items": {"type": "string"}}, SchemaBuilder.array(STRING_SCHEMA).build()),
    ],
)
def test_a_schema_of_others_is_read_as_Java_reads_it(form: Any, expected: Schema) -> None:
    """What was not written by a converter has its rules, too."""
    assert read(form) == expected


def test_fields_have_the_order_of_their_indexes_else_that_of_Javas_hash_tables() -> None:
    """Of two fields with the same index the last one remains, as in Java."""
    form = {"properties": {"a": {"type": "string", "connect.index": 1}, "b": {"type": "string", "connect.index": 0}}}
    assert [field.name for field in read(form).fields] == ["b", "a"]
    names = {name: {"type": "string"} for name in ("id", "name", "x", "status")}
    assert [field.name for field in read({"properties": names}).fields] == ["name", "x", "id", "status"]


def test_settings_change_how_a_schema_is_read() -> None:
    """What is not required may be optional, unions may be general, and other members may be kept."""
    form = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    assert read(form).field("b").schema == STRING_SCHEMA  # type: ignore[union-attr]
    schema = read(form, use_optional_for_nonrequired="true", preserve_additional_properties="true")
    assert [field.schema.optional for field in schema.fields] == [False, True, True]
    assert schema.fields[2].schema.type is Type.MAP
    union = read({"oneOf": [{"type": "string"}, {"type": "number"}]}, generalized_sum_type_support="true")
    assert (union.name, union.fields[1].name) == ("connect_union_0", "connect_union_field_1")
    single = read({"oneOf": [{"type": "string"}]}, flatten_singleton_unions="false")
    assert single.fields[0].schema == OPTIONAL_STRING_SCHEMA


def test_the_version_of_the_registry_is_that_of_the_root() -> None:
    """Its own version counts first; an optional root has one, too."""
    assert read({"type": "string"}, version=3).version == 3
    assert read({"type": "string", "connect.version": 2}, version=3).version == 2
    assert read({"oneOf": [{"type": "null"}, {"type": "string"}]}, version=3).version == 3


def test_references_are_followed_within_the_schema_and_to_others() -> None:
    """A struct that was met before has an id, as it has in Java; others are read again."""
    form = {
        "properties": {
            "p": {"$ref": "#/definitions/d"}, "q": {"$ref": "#/definitions/d"}, "r": {"$ref": "other.json#/x"},
            "s": {"$ref": "#here"},
        },
        "definitions": {"d": {"type": "object", "properties": {}}, "e": {"$id": "#here", "type": "boolean"}},
    }  # fmt: skip
    fields = {field.name: field.schema for field in read(form, {"other.json": '{"x":{"type":"integer"}}'}).fields}
    assert fields["r"] == INT64_SCHEMA
    assert fields["s"].type is Type.BOOLEAN
    assert dict(fields["q"].parameters or {}) == {"io.confluent.connect.json.Id": "#id1"}


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"type": "array"}, "Array schema did not specify the items type"),
        ({"type": "null"}, "Unsupported schema type org.everit.json.schema.NullSchema"),
        ({"definitions": {"a": {"$ref": "#/definitions/a"}}, "$ref": "#/definitions/a"}, "JSON schema is nested too"),
        ({"type": "integer", "connect.type": "no"}, "Unsupported type no"),
        ({"type": "string", "default": None}, "Invalid null value for required STRING field"),
    ],
)
def test_a_schema_that_no_record_can_have_is_refused(form: Any, message: str) -> None:
    """The message says what it is."""
    with pytest.raises(DataError, match=message):
        read(form)


@pytest.mark.parametrize(
    "form",
    ["[", "3", '{"type":"no"}', '{"$ref":"gone.json"}', '{"$ref":"#/gone"}', '{"oneOf":3}', "[" * 100_000,
     '{"items":' * 5000 + "{}" + "}" * 5000],
)  # fmt: skip
def test_invalid_and_unsupported_schemas_raise_different_errors(form: str) -> None:
    """A registry may hold anything."""
    with pytest.raises(PayloadError, match=r"JSON schema|unknown type"):
        read(form)


def test_a_schema_that_grows_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each definition holds the next one nine times: millions of parts in a text of some lines."""
    monkeypatch.setattr(json_schema_reader, "PARTS_AT_MOST", 5000)
    definitions = {
        f"d{n}": {"type": "array", "items": {"oneOf": [{"$ref": f"#/definitions/d{n + 1}"}] * 9}} for n in range(9)
    }
    definitions["d9"] = {"type": "array", "items": {"type": "string"}}
    with pytest.raises(DataError, match="has more than 5000 parts"):
        read({"$ref": "#/definitions/d0", "definitions": definitions})
