"""Rules of ExtractField and of paths to fields, with results of Kafka Connect 4.3.1."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from hearth_api import (
    BYTES_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    Schema,
    SchemaBuilder,
    SourceRecord,
    Struct,
)
from hearth_api.batch import records_to_batches
from hearth_transforms.extract_field import ExtractFieldKey, ExtractFieldValue
from hearth_transforms.field_path import FieldPath
from tests.unit.plugins.transforms.sample import check_forms, numbered, refusal, refusal_in_batch, source_record

INNER = (
    SchemaBuilder.struct().optional().field("x", OPTIONAL_INT32_SCHEMA)
    .field("y", SchemaBuilder.float64().optional().default(2.5)).build()
)  # fmt: skip
BIG = (
    SchemaBuilder.struct().optional().name("big").field("s", STRING_SCHEMA).field("os", OPTIONAL_STRING_SCHEMA)
    .field("d", SchemaBuilder.int32().optional().default(7)).field("rd", SchemaBuilder.int32().default(8))
    .field("in", INNER).build()
)  # fmt: skip
VALUE = Struct(BIG).put("s", "q").put("in", Struct(INNER).put("x", 1))
MISSING = object()


def extract(field: str, version: str = "V1", **more: str) -> ExtractFieldValue:
    """Return the transformation with its settings."""
    transformation = ExtractFieldValue()
    transformation.configure({"field": field, "field.syntax.version": version, **more})
    return transformation


@pytest.mark.parametrize(
    ("field", "version", "value"),
    [
        ("s", "V1", "q"),
        ("os", "V1", None),
        ("d", "V1", 7),
        ("rd", "V1", 8),
        ("in", "V1", Struct(INNER).put("x", 1)),
        ("s", "v2", "q"),
        ("in.x", "v2", 1),
        ("in.y", "v2", 2.5),
    ],
)
def test_a_field_of_a_struct_takes_its_place(field: str, version: str, value: Any) -> None:
    """The schema is the field's; a default replaces a null."""
    extracted = extract(field, version).apply(source_record(BIG, VALUE))
    assert extracted.value == value
    schema = FieldPath(field, version).field_in(BIG).schema
    assert extracted.value_schema == schema


def test_a_default_is_left_out_on_demand() -> None:
    """`replace.null.with.default` is about the last field; on the way to it defaults always count."""
    without = {"replace.null.with.default": "false"}
    for field in ("d", "in.y"):
        assert extract(field, "V2", **without).apply(source_record(BIG, VALUE)).value is None


def test_a_default_struct_is_entered_on_the_way() -> None:
    """A missing struct with a default counts as present, in both forms."""
    inner = SchemaBuilder.struct().field("x", STRING_SCHEMA).build()
    builder = SchemaBuilder.struct().field("x", STRING_SCHEMA).optional()
    schema = SchemaBuilder.struct().field("in", Schema(
        inner.type, True, Struct(inner).put("x", "default"), fields=builder.build().fields
    )).build()  # fmt: skip
    record = source_record(schema, Struct(schema))
    transformation = extract("in.x", "V2", **{"replace.null.with.default": "false"})
    assert transformation.apply(record).value == "default"
    (batch,) = records_to_batches([record])
    check_forms(transformation, numbered(batch))


def test_a_null_struct_stays_null_with_the_fields_schema() -> None:
    """No default applies, since there is no struct that could have it."""
    extracted = extract("d").apply(source_record(BIG, None))
    assert (extracted.value, extracted.value_schema) == (None, BIG.field("d").schema)  # type: ignore[union-attr]
    nested = extract("in.x", "V2").apply(source_record(BIG, Struct(BIG).put("s", "1")))
    assert (nested.value, nested.value_schema) == (None, OPTIONAL_INT32_SCHEMA)


@pytest.mark.parametrize(
    ("field", "version", "schema", "value", "message"),
    [
        ("zz", "V1", BIG, VALUE, "Unknown field: zz"),
        ("zz", "V1", BIG, None, "Unknown field: zz"),
        ("in.x", "V1", BIG, VALUE, "Unknown field: in.x"),
        ("in.zz", "V2", BIG, VALUE, "Unknown field: in.zz"),
        ("", "V1", BIG, VALUE, "Unknown field: "),
        ("", "V2", BIG, VALUE, "Unknown field: "),
        ("s.x", "V2", BIG, VALUE, "Cannot look up fields on non-struct type"),
        ("b", "V1", OPTIONAL_STRING_SCHEMA, None, "Cannot look up fields on non-struct type"),
        (
            "b",
            "V1",
            STRING_SCHEMA,
            "x",
            "Only Struct objects supported for [field extraction], found: java.lang.String",
        ),
        ("b", "V1", BYTES_SCHEMA, b"", "Only Struct objects supported for [field extraction], found: [B"),
    ],
)
def test_a_missing_field_is_refused(field: str, version: str, schema: Schema, value: Any, message: str) -> None:
    """The messages are Kafka's, except for the empty path, where Kafka's is about an index; both forms agree."""
    record = source_record(schema, value)
    assert refusal(extract(field, version).apply, record) == message
    (batch,) = records_to_batches([record])
    assert refusal_in_batch(extract(field, version), numbered(batch)) == message


@pytest.mark.parametrize(
    ("field", "version", "value", "expected"),
    [
        ("a", "V1", {"a": 1}, 1),
        ("b", "V1", {"a": 1}, None),
        ("b", "V1", None, None),
        ("a.b", "V1", {"a.b": 2}, 2),
        ("a.b", "V2", {"a": {"b": 5}}, 5),
        ("a.b", "V2", {"a": None}, None),
        ("a.b", "V2", {}, None),
        ("a.b.c", "V2", {"a": {}}, None),
    ],
)
def test_a_member_of_a_map_takes_its_place(field: str, version: str, value: Any, expected: Any) -> None:
    """Without schema what is missing is null."""
    extracted = extract(field, version).apply(source_record(None, value))
    assert (extracted.value, extracted.value_schema) == (expected, None)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (1, "java.lang.Long"),
        (1.5, "java.lang.Double"),
        ("s", "java.lang.String"),
        (True, "java.lang.Boolean"),
        ([], "java.util.ArrayList"),
        (b"", "[B"),
        (Decimal(1), "java.math.BigDecimal"),
        (dt.date(2020, 1, 1), "java.util.Date"),
        (Struct(INNER), "org.apache.kafka.connect.data.Struct"),
    ],
)
def test_a_value_that_is_not_a_map_is_refused_with_its_java_class(value: Any, found: str) -> None:
    """The message is Kafka's, at the top and on the way to a field."""
    message = "Only Map objects supported in absence of schema for [{}], found: " + found
    assert refusal(extract("b").apply, source_record(None, value)) == message.format("field extraction")
    nested = refusal(extract("a.b", "V2").apply, source_record(None, {"a": value}))
    assert nested == message.format("nested field access")


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("foo", ["foo"]),
        ("foo.bar", ["foo", "bar"]),
        ("foo.`bar.baz`", ["foo", "bar.baz"]),
        ("`foo`bar`", ["foo`bar"]),
        ("foo.`bar\\`.baz`", ["foo", "bar`.baz"]),
        ("`a\\`.b`.c", ["a`.b", "c"]),
        ("`a`b`.c", ["a`b", "c"]),
        ("`a.b`c.d`", ["a.b`c.d"]),
        ("a`b.c", ["a`b", "c"]),
        ("``", [""]),
        ("``.a", ["", "a"]),
        ("`a`.", ["a", ""]),
        ("..", ["", "", ""]),
        (".", ["", ""]),
        (".a", ["", "a"]),
        ("a..b", ["a", "", "b"]),
        ("foo.", ["foo", ""]),
        ("", []),
    ],
)
def test_a_path_is_cut_at_its_dots(text: str, steps: list[str]) -> None:
    """Backticks protect dots, a backslash protects a backtick before a dot; in V1 the whole path is one name."""
    assert list(FieldPath(text, "V2").steps) == steps
    assert FieldPath(text, "V1").steps == (text,)


@pytest.mark.parametrize(("text", "place"), [("foo.`ba.r", 4), ("`a", 0), ("a.`", 2), ("`", 0), ("`a\\`", 0)])
def test_a_backtick_that_is_left_open_is_refused(text: str, place: int) -> None:
    """The message is Kafka's, with the place of the opening one."""
    with pytest.raises(ConfigError) as caught:
        extract(text, "V2")
    assert str(caught.value) == (
        f"Incomplete backtick pair in path: [{text}],"
        f" consider adding a backslash before backtick at position {place} to escape it"
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, 'Missing required configuration "field" which has no default value.'),
        (
            {"field": "b", "field.syntax.version": "V3"},
            "Invalid value V3 for configuration field.syntax.version: "
            "String must be one of (case insensitive): V1, V2",
        ),
        (
            {"field": "b", "replace.null.with.default": "x"},
            "Invalid value x for configuration replace.null.with.default: Expected value to be either true or false",
        ),
    ],
)
def test_wrong_settings_are_refused(config: dict[str, str], message: str) -> None:
    """The messages are Kafka's."""
    with pytest.raises(ConfigError) as caught:
        ExtractFieldValue().configure(config)
    assert str(caught.value) == message


def test_the_variant_for_keys_takes_the_key() -> None:
    """The value stays."""
    transformation = ExtractFieldKey()
    transformation.configure({"field": "id"})
    record = SourceRecord(None, None, "t", key={"id": 1}, value="v")
    extracted = transformation.apply(record)
    assert (extracted.key, extracted.value) == (1, "v")
