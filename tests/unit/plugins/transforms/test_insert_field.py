"""Rules of InsertField, with results of Kafka Connect 4.3.1."""

from __future__ import annotations

import pytest

from hearth_api import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
    TimestampType,
)
from hearth_api.batch import records_to_batches
from hearth_transforms.insert_field import InsertFieldKey, InsertFieldValue
from tests.unit.plugins.transforms.sample import (
    check_forms,
    numbered,
    records_of,
    refusal,
    refusal_in_batch,
    sink_record,
    source_record,
)

STATIC = {"static.field": "st", "static.value": "sv"}
ALL = {"topic.field": "topic!", "partition.field": "p", "timestamp.field": "ts?", **STATIC}
SCHEMA = (
    SchemaBuilder.struct().optional().name("big").version(3).doc("d").parameter("pa", "v").field("s", STRING_SCHEMA)
    .field("d", SchemaBuilder.int32().optional().default(7)).field("rd", SchemaBuilder.int32().default(8)).build()
)  # fmt: skip
VALUE = Struct(SCHEMA).put("s", "q")
MOMENT = 1_483_425_001_864


def insert(config: dict[str, str]) -> InsertFieldValue:
    """Return the transformation with its settings."""
    transformation = InsertFieldValue()
    transformation.configure(config)
    return transformation


def fields_of(schema: Schema | None) -> list[tuple[str, Schema]]:
    """Return the names and schemas of the fields that were inserted."""
    assert schema is not None
    return [(field.name, field.schema) for field in schema.fields[len(SCHEMA.fields) :]]


def test_a_struct_gets_fields_at_its_end() -> None:
    """A mark makes a field required or optional; defaults of the other fields replace their nulls."""
    inserted = insert(ALL).apply(source_record(SCHEMA, VALUE, kafka_partition=3))
    assert fields_of(inserted.value_schema) == [
        ("topic", STRING_SCHEMA),
        ("p", OPTIONAL_INT32_SCHEMA),
        ("ts", Timestamp.builder().optional().build()),
        ("st", OPTIONAL_STRING_SCHEMA),
    ]
    moment = Timestamp.to_logical(Timestamp.SCHEMA, MOMENT)
    assert inserted.value.raw_values() == ("q", 7, 8, "test", 3, moment, "sv")


def test_the_new_schema_keeps_its_metadata_but_is_required() -> None:
    """Name, version, documentation and parameters stay; being optional does not."""
    schema = insert(ALL).apply(source_record(SCHEMA, VALUE)).value_schema
    assert schema is not None
    assert (schema.name, schema.version, schema.doc, schema.parameters) == ("big", 3, "d", {"pa": "v"})
    assert not schema.optional


def test_a_missing_attribute_stays_null() -> None:
    """Not even a required field is refused here; that is for the converter."""
    config = {**ALL, "partition.field": "p!", "timestamp.field": "ts!"}
    inserted = insert(config).apply(source_record(SCHEMA, VALUE, timestamp=None))
    assert inserted.value.raw_values() == ("q", 7, 8, "test", None, None, "sv")


def test_a_record_of_a_sink_has_an_offset() -> None:
    """Partition and offset are Kafka's."""
    config = {"offset.field": "off!", "partition.field": "p!", "static.field": "x!", "static.value": ""}
    inserted = insert(config).apply(sink_record(SCHEMA, VALUE))
    assert fields_of(inserted.value_schema) == [("p", INT32_SCHEMA), ("off", INT64_SCHEMA), ("x", STRING_SCHEMA)]
    assert inserted.value.raw_values()[3:] == (2, 77, "")


def test_a_map_gets_members() -> None:
    """The timestamp is a plain number, members of the same name are overwritten, absent attributes are left out."""
    record = source_record(None, {"a": 1, "topic": "old", "ts": "old"}, kafka_partition=3)
    assert insert(ALL).apply(record).value == {"a": 1, "topic": "test", "p": 3, "ts": MOMENT, "st": "sv"}
    bare = record.new_record(kafka_partition=None, timestamp=None)
    assert insert(ALL).apply(bare).value == {"a": 1, "topic": "test", "ts": "old", "st": "sv"}


def test_a_null_stays_as_it_is() -> None:
    """With or without schema the very record is returned, whatever would be inserted."""
    for schema in (SCHEMA, None):
        record = source_record(schema, None)
        assert insert({"offset.field": "o"}).apply(record) is record


@pytest.mark.parametrize(
    ("config", "schema", "value", "message"),
    [
        (
            {"offset.field": "o"},
            SCHEMA,
            VALUE,
            "Only SinkRecord supported for [field insertion], found: org.apache.kafka.connect.source.SourceRecord",
        ),
        (
            {"offset.field": "o"},
            None,
            {},
            "Only SinkRecord supported for [field insertion], found: org.apache.kafka.connect.source.SourceRecord",
        ),
        (
            {"offset.field": "o"},
            None,
            [],
            "Only Map objects supported in absence of schema for [field insertion], found: java.util.ArrayList",
        ),
        ({"topic.field": "s"}, SCHEMA, VALUE, "Cannot create field because of field name duplication s"),
        (
            {"topic.field": "t", "static.field": "t", "static.value": "x"},
            SCHEMA,
            VALUE,
            "Cannot create field because of field name duplication t",
        ),
        ({"topic.field": "!"}, SCHEMA, VALUE, "fieldName cannot be null."),
        (
            ALL,
            STRING_SCHEMA,
            "x",
            "Only Struct objects supported for [field insertion], found: java.lang.String",
        ),
        (
            ALL,
            None,
            "x",
            "Only Map objects supported in absence of schema for [field insertion], found: java.lang.String",
        ),
        (
            {"topic.field": "t", "replace.null.with.default": "false"},
            SCHEMA,
            VALUE,
            'Invalid value: null used for required field: "rd", schema type: INT32',
        ),
    ],
)
def test_what_cannot_be_done_is_refused(
    config: dict[str, str], schema: Schema | None, value: object, message: str
) -> None:
    """The messages are Kafka's, in both forms."""
    record = source_record(schema, value)
    assert refusal(insert(config).apply, record) == message
    (batch,) = records_to_batches([record])
    assert refusal_in_batch(insert(config), numbered(batch)) == message


def test_a_missing_topic_is_refused_by_a_required_field() -> None:
    """An optional field takes the null."""
    record = source_record(SCHEMA, VALUE, topic=None)
    message = 'Invalid value: null used for required field: "a", schema type: STRING'
    assert refusal(insert({"topic.field": "a!"}).apply, record) == message
    assert insert({"topic.field": "a"}).apply(record).value.get("a") is None


def test_only_the_last_mark_counts() -> None:
    """The rest belongs to the name."""
    inserted = insert({"topic.field": "a!?"}).apply(source_record(SCHEMA, VALUE))
    assert fields_of(inserted.value_schema) == [("a!", OPTIONAL_STRING_SCHEMA)]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "No field insertion configured"),
        ({"static.value": "x"}, "No field insertion configured"),
        (
            {"static.field": "x!"},
            "Invalid value null for configuration static.value: No value specified for static field: x!",
        ),
    ],
)
def test_wrong_settings_are_refused(config: dict[str, str], message: str) -> None:
    """The messages are Kafka's, where the last one ends with the address of an object."""
    with pytest.raises(ConfigError) as caught:
        insert(config)
    assert str(caught.value) == message


def test_the_variant_for_keys_changes_the_key() -> None:
    """The value stays."""
    transformation = InsertFieldKey()
    transformation.configure({"topic.field": "t"})
    inserted = transformation.apply(source_record(None, "v", key={"id": 1}))
    assert (inserted.key, inserted.value) == ({"id": 1, "t": "test"}, "v")


def test_nulls_in_a_batch_keep_their_schema_and_their_place() -> None:
    """A batch is cut where nulls begin and end, since they have another schema than what was inserted into."""
    values = [None, VALUE, VALUE, None, VALUE]
    (batch,) = records_to_batches([source_record(SCHEMA, value) for value in values])
    batch = numbered(batch)
    check_forms(insert(ALL), batch)
    assert [part.num_rows for part in insert(ALL).apply_batch(batch)] == [1, 2, 1, 1]


def test_records_of_the_moment_get_their_time_here() -> None:
    """A batch that says its records were made just now has a timestamp as soon as a transformation looks."""
    (batch,) = records_to_batches([source_record(SCHEMA, VALUE, timestamp=None)])
    batch = numbered(batch).replace(timestamp_type=TimestampType.CREATE_TIME)
    (inserted,) = insert({"timestamp.field": "ts"}).apply_batch(batch)
    (record,) = records_of(inserted)
    assert record.timestamp is not None
    assert Timestamp.from_logical(Timestamp.SCHEMA, record.value.get("ts")) == record.timestamp
