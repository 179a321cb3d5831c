"""Fields inside of fields: every transformation that names fields does to them what it does to those at the top."""

from __future__ import annotations

from typing import Any

import pytest

from hearth_api import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, ConfigError, DataError, Schema, SchemaBuilder, Struct
from hearth_api.batch import BatchTransformation, records_to_batches
from hearth_transforms.cast import CastValue
from hearth_transforms.extract_field import ExtractFieldValue
from hearth_transforms.header_from import HeaderFromValue
from hearth_transforms.insert_field import InsertFieldValue
from hearth_transforms.mask_field import MaskFieldValue
from hearth_transforms.replace_field import ReplaceFieldValue
from hearth_transforms.timestamp_converter import TimestampConverterValue
from hearth_transforms.value_to_key import ValueToKey
from tests.unit.plugins.transforms.sample import check_forms, numbered, sink_record, struct_of, tree_of

TREE: dict[str, Any] = {"a": {"b": {"x": 1, "y.z": "two"}, "n": 7}, "t": "x", "gone": None}
X = SchemaBuilder.struct().field("x", INT64_SCHEMA).field("y.z", STRING_SCHEMA).optional().build()
A = SchemaBuilder.struct().name("inner").field("b", X).field("n", INT64_SCHEMA).build()
SCHEMA = SchemaBuilder.struct().field("a", A).field("t", STRING_SCHEMA).field("gone", X).build()


def made(kind: type[BatchTransformation], config: dict[str, str]) -> BatchTransformation:
    """Return a transformation that reads paths."""
    transformation = kind()
    transformation.configure({"field.syntax.version": "v2", **config})
    return transformation


def changed(transformation: BatchTransformation, schema: Schema | None, value: Any) -> Any:
    """Return what becomes of a record, alone as in a batch with others of another kind."""
    whole, empty = (
        struct_of(schema, each) if schema else each for each in (value, {**value, "a": {**value["a"], "b": None}})
    )
    records = [sink_record(schema, each) for each in (whole, empty, whole)]
    for batch in records_to_batches(records):
        check_forms(transformation, numbered(batch))
    return transformation.apply(records[0])


CASES: list[tuple[type[BatchTransformation], dict[str, str], Any]] = [
    (MaskFieldValue, {"fields": "a.b.x,a.n,t"}, {"a": {"b": {"x": 0, "y.z": "two"}, "n": 0}, "t": "", "gone": None}),
    (
        MaskFieldValue,
        {"fields": "a.b.`y.z`,gone.x", "replacement": "*"},
        {**TREE, "a": {"b": {"x": 1, "y.z": "*"}, "n": 7}},
    ),
    (CastValue, {"spec": "a.b.x:string,t:string"}, {**TREE, "a": {"b": {"x": "1", "y.z": "two"}, "n": 7}}),
    (CastValue, {"spec": "a.n:string"}, {**TREE, "a": {**TREE["a"], "n": "7"}}),
    (ReplaceFieldValue, {"exclude": "a.b.x,gone"}, {"a": {"b": {"y.z": "two"}, "n": 7}, "t": "x"}),
    (ReplaceFieldValue, {"include": "a.b.x,t"}, {"a": {"b": {"x": 1}}, "t": "x"}),
    (ReplaceFieldValue, {"include": "a.b.x,a"}, {"a": TREE["a"]}),
    (
        ReplaceFieldValue,
        {"renames": "a.b.`y.z`:y,a:c", "exclude": "gone"},
        {"c": {"b": {"x": 1, "y": "two"}, "n": 7}, "t": "x"},
    ),
    (
        InsertFieldValue,
        {"topic.field": "a.b.topic!", "partition.field": "p", "static.field": "gone.s", "static.value": "x"},
        {"a": {"b": {"x": 1, "y.z": "two", "topic": "test"}, "n": 7}, "t": "x", "gone": None, "p": 2},
    ),
    (
        TimestampConverterValue,
        {"field": "a.b.x", "target.type": "string", "format": "ss.SSS"},
        {**TREE, "a": {"b": {"x": "00.001", "y.z": "two"}, "n": 7}},
    ),
    (HeaderFromValue, {"fields": "a.b.x,t", "headers": "h,i", "operation": "copy"}, TREE),
    (
        HeaderFromValue,
        {"fields": "a.b.x,t", "headers": "h,i", "operation": "move"},
        {"a": {"b": {"y.z": "two"}, "n": 7}, "gone": None},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "config", "expected"), CASES, ids=lambda each: getattr(each, "__name__", ""))
@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["struct", "map"])
def test_a_path_leads_into_structs_and_maps(
    kind: type[BatchTransformation], config: dict[str, str], expected: Any, schema: Schema | None
) -> None:
    """Other fields are unchanged, and a missing or null parent is not altered."""
    transformation = made(kind, config)
    record = changed(transformation, schema, TREE)
    assert tree_of(record.value) == expected
    if schema is not None:
        (batch,) = records_to_batches([sink_record(schema, struct_of(schema, TREE))])
        assert kind is HeaderFromValue or transformation.apply_batch(batch) is not NotImplemented
        inner = record.value_schema.fields[0].schema
        assert (inner.name, inner.fields[0].schema.optional, inner.optional) == ("inner", True, False)
    if kind is HeaderFromValue:
        assert [(each.key, each.value) for each in record.headers] == [("h", 1), ("i", "x")]


@pytest.mark.parametrize("schema", [SCHEMA, None], ids=["struct", "map"])
def test_a_key_is_made_of_fields_at_any_depth(schema: Schema | None) -> None:
    """They have the last name of their paths there."""
    record = changed(made(ValueToKey, {"fields": "a.b.x,t"}), schema, TREE)
    assert tree_of(record.key) == {"x": 1, "t": "x"}


def test_a_path_through_a_scalar_is_an_error() -> None:
    """Kafka's message names the purpose; a field missing in the schema fails only transformations that read it."""
    with pytest.raises(DataError, match=r"Only Struct objects supported for \[mask fields\], found: java.lang.String"):
        changed(made(MaskFieldValue, {"fields": "t.x"}), SCHEMA, TREE)
    with pytest.raises(DataError, match=r"Only Map objects supported .* \[mask fields\], found: java.lang.String"):
        changed(made(MaskFieldValue, {"fields": "t.x"}), None, TREE)
    assert tree_of(changed(made(MaskFieldValue, {"fields": "no.x"}), SCHEMA, TREE).value) == TREE
    assert changed(made(MaskFieldValue, {"fields": "no.x"}), None, TREE).value == TREE
    for kind, config in (
        (ValueToKey, {"fields": "a.no"}),
        (HeaderFromValue, {"fields": "a.no", "headers": "h", "operation": "copy"}),
        (ExtractFieldValue, {"field": "a.no"}),
    ):
        with pytest.raises(DataError, match=r"(Unknown field|Field does not exist): a\.no"):
            changed(made(kind, config), SCHEMA, TREE)


def test_names_with_dots_are_names_in_syntax_v1() -> None:
    """V1 is what Kafka Connect knows; a backtick without its other half is refused with the configuration."""
    schema = SchemaBuilder.struct().field("a.b", INT32_SCHEMA).build()
    record = sink_record(schema, Struct(schema).put("a.b", 5))
    transformation = MaskFieldValue()
    transformation.configure({"fields": "a.b"})
    assert transformation.apply(record).value.get("a.b") == 0
    for path, found in (("a.b", 5), ("`a.b`", 0)):
        masked = made(MaskFieldValue, {"fields": path}).apply(record)
        assert masked is not None
        assert masked.value.get("a.b") == found
    with pytest.raises(ConfigError, match="Incomplete backtick pair in path"):
        made(MaskFieldValue, {"fields": "a.`b"})
    with pytest.raises(ConfigError, match=r"field\.syntax\.version"):
        made(MaskFieldValue, {"fields": "a", "field.syntax.version": "V3"})
