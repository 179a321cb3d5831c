"""Rules of HoistField, with results of Kafka Connect 4.3.1."""

from __future__ import annotations

import pytest

from hearth_api import INT32_SCHEMA, OPTIONAL_INT32_SCHEMA, ConfigError, SchemaBuilder, Struct
from hearth_api.batch import records_to_batches
from hearth_transforms.hoist_field import HoistFieldKey, HoistFieldValue
from tests.unit.plugins.transforms.sample import check_forms, numbered, refusal, source_record


def hoist(field: str = "m") -> HoistFieldValue:
    """Return the transformation with its one setting."""
    transformation = HoistFieldValue()
    transformation.configure({"field": field})
    return transformation


def test_a_value_without_schema_becomes_a_map() -> None:
    """Whatever it is, null included."""
    for value in ({"a": 1}, 42, None):
        hoisted = hoist().apply(source_record(None, value))
        assert (hoisted.value_schema, hoisted.value) == (None, {"m": value})


def test_a_value_with_schema_becomes_a_struct_without_name() -> None:
    """The schema of the field is the old one as it was."""
    hoisted = hoist().apply(source_record(INT32_SCHEMA, 42))
    schema = SchemaBuilder.struct().field("m", INT32_SCHEMA).build()
    assert (hoisted.value_schema, hoisted.value) == (schema, Struct(schema).put("m", 42))


def test_a_null_is_wrapped_where_the_schema_allows_one() -> None:
    """Kafka refuses a null of a required schema, even of one with a default."""
    assert str(hoist().apply(source_record(OPTIONAL_INT32_SCHEMA, None)).value) == "Struct{}"
    for schema in (INT32_SCHEMA, SchemaBuilder.int32().default(5).build()):
        message = 'Invalid value: null used for required field: "m", schema type: INT32'
        assert refusal(hoist().apply, source_record(schema, None)) == message


def test_the_variant_for_keys_leaves_the_value_alone() -> None:
    """A record without key gets a key that holds null."""
    transformation = HoistFieldKey()
    transformation.configure({"field": "m"})
    hoisted = transformation.apply(source_record(INT32_SCHEMA, 42))
    assert (hoisted.key_schema, hoisted.key, hoisted.value) == (None, {"m": None}, 42)


def test_an_empty_name_is_refused_only_for_structs() -> None:
    """As in Kafka the map takes it."""
    assert refusal(hoist("").apply, source_record(INT32_SCHEMA, 42)) == "fieldName cannot be null."
    assert hoist("").apply(source_record(None, 42)).value == {"": 42}


def test_the_name_is_required() -> None:
    """The message is Kafka's."""
    with pytest.raises(ConfigError) as caught:
        HoistFieldValue().configure({})
    assert str(caught.value) == 'Missing required configuration "field" which has no default value.'


def test_a_column_is_wrapped_without_a_copy() -> None:
    """The field of the new structs is the very memory of the old column."""
    (batch,) = records_to_batches([source_record(INT32_SCHEMA, number) for number in range(3)])
    batch = numbered(batch)
    check_forms(hoist(), batch)
    (hoisted,) = hoist().apply_batch(batch)
    assert hoisted.column("value").field(0).buffers()[1].address == batch.column("value").buffers()[1].address
    assert hoisted.column("source_offset") is not None
