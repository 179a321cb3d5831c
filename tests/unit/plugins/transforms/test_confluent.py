"""Confluent's additional transformations behave as documented."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from hearth_api import (
    INT32_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    ConnectRecord,
    DataError,
    Header,
    SchemaBuilder,
    Struct,
)
from hearth_api.batch import BatchTransformation, records_to_batches
from hearth_transforms.drop import DropKey, DropValue
from hearth_transforms.extract_topic import ExtractTopicHeader, ExtractTopicKey, ExtractTopicValue
from hearth_transforms.message_timestamp_router import MessageTimestampRouter
from hearth_transforms.path_filter import PathFilterKey, PathFilterValue
from hearth_transforms.tombstone_handler import TombstoneHandler
from tests.unit.plugins.transforms.sample import check_forms, numbered, sink_record, source_record
from tests.unit.plugins.two_forms import transformed

MOMENT = 1_483_425_001_864
BOOK = SchemaBuilder.struct().field("title", STRING_SCHEMA).field("author", STRING_SCHEMA).build()
ORDER = SchemaBuilder.struct().field("book", BOOK).field("f2", STRING_SCHEMA).field("n", INT32_SCHEMA).build()


def made(kind: type[BatchTransformation], **config: Any) -> BatchTransformation:
    """Return a configured transformation; in keys a dot is written as two underscores here."""
    transformation = kind()
    transformation.configure({name.replace("__", "."): value for name, value in config.items()})
    return transformation


def applied(transformation: BatchTransformation, record: ConnectRecord) -> Any:
    """Return what becomes of a record, alone and in a batch."""
    (batch,) = records_to_batches([record, record])
    check_forms(transformation, numbered(batch))
    return transformation.apply(record)


def order(author: str) -> Struct:
    """Return a struct with another in it."""
    book = Struct(BOOK).put("title", "T").put("author", author)
    return Struct(ORDER).put("book", book).put("f2", "books").put("n", 7)


@pytest.mark.parametrize(
    ("config", "schema", "expected"),
    [
        ({}, INT32_SCHEMA, None),
        ({"schema__behavior": "nullify"}, OPTIONAL_INT32_SCHEMA, None),
        ({"schema__behavior": "retain"}, INT32_SCHEMA, INT32_SCHEMA),
        ({"schema__behavior": "validate"}, OPTIONAL_INT32_SCHEMA, OPTIONAL_INT32_SCHEMA),
        ({"schema__behavior": "force_optional"}, INT32_SCHEMA, OPTIONAL_INT32_SCHEMA),
        ({"schema__behavior": "force_optional"}, None, None),
    ],
)
def test_drop_leaves_null_with_the_configured_schema(config: Any, schema: Any, expected: Any) -> None:
    """On its own side alone."""
    record = source_record(schema, 5, key_schema=schema, key=5)
    changed = applied(made(DropValue, **config), record)
    assert (changed.value_schema, changed.value, changed.key_schema, changed.key) == (expected, None, schema, 5)
    changed = applied(made(DropKey, **config), record)
    assert (changed.key_schema, changed.key, changed.value_schema, changed.value) == (expected, None, schema, 5)


def test_drop_refuses_a_required_schema_where_it_validates() -> None:
    """The other behaviours take any."""
    with pytest.raises(DataError, match="the value cannot become null, since its schema is not optional"):
        applied(made(DropValue, schema__behavior="validate"), source_record(INT32_SCHEMA, 5))


@pytest.mark.parametrize(
    ("kind", "config", "topic"),
    [
        (ExtractTopicKey, {}, "k"),
        (ExtractTopicValue, {"field": "f2"}, "books"),
        (ExtractTopicValue, {"field": '["book"]["author"]', "field__format": "JSON_PATH"}, "A"),
        (ExtractTopicValue, {"field": "$.book.author", "field__format": "JSON_PATH"}, "A"),
        (ExtractTopicValue, {"field": "$.book.absent", "field__format": "JSON_PATH"}, None),
        (ExtractTopicValue, {"field": "absent"}, None),
        (ExtractTopicHeader, {"field": "h"}, "last"),
        (ExtractTopicHeader, {"field": "absent"}, None),
    ],
)
@pytest.mark.parametrize("value", [(ORDER, order("A")), (None, {"f2": "books", "book": {"author": "A"}})])
def test_extract_topic_reads_a_part_of_the_record(kind: Any, config: Any, topic: Any, value: Any) -> None:
    """A record without that part is an error, or keeps its topic."""
    headers = [Header("h", STRING_SCHEMA, "first"), Header("h", STRING_SCHEMA, "last"), Header("i", None, None)]
    record = sink_record(*value, key_schema=STRING_SCHEMA, key="k", headers=headers)
    skipping = applied(made(kind, **config, skip__missing__or__null="true"), record)
    assert skipping.topic == (topic or "test")
    assert skipping.original_topic == "test"
    if topic is None:
        with pytest.raises(DataError, match="names no topic: it is missing or null"):
            applied(made(kind, **config), record)


def test_extract_topic_takes_strings_alone() -> None:
    """And refuses a path that may lead to several places, or to a header."""
    with pytest.raises(DataError, match="Only String objects supported for"):
        made(ExtractTopicValue, field="n").apply(source_record(ORDER, order("A")))
    for config in ({"field": "$..a"}, {"field": "$.a["}):
        with pytest.raises(ConfigError, match="field"):
            made(ExtractTopicValue, **config, field__format="JSON_PATH")
    for config in ({"field": ""}, {"field": "a", "field__format": "JSON_PATH"}):
        with pytest.raises(ConfigError, match="field"):
            made(ExtractTopicHeader, **config)


CONDITION = "$.book[?(@.author == 'Tolstoy' || @.author == 'Dostoevsky')]"


@pytest.mark.parametrize("kind", ["include", "exclude"])
def test_filter_keeps_matching_or_other_records(kind: str) -> None:
    """With a schema and without."""
    transformation = made(PathFilterValue, filter__condition=CONDITION, filter__type=kind)
    for author in ("Tolstoy", "Dostoevsky", "Gogol"):
        is_kept = (author != "Gogol") == (kind == "include")
        for value in ((ORDER, order(author)), (None, {"book": {"author": author}})):
            assert (applied(transformation, source_record(*value)) is not None) == is_kept
    assert applied(transformation, source_record(None, {"book": {"title": "T"}})) is None or kind == "exclude"


@pytest.mark.parametrize("behavior", ["fail", "include", "exclude"])
def test_filter_follows_its_setting_for_missing_fields(behavior: str) -> None:
    """A record with a null key or value always passes."""
    config = {"filter__condition": CONDITION, "filter__type": "include", "missing__or__null__behavior": behavior}
    transformation = made(PathFilterKey, **config)
    for key in ({}, {"book": None}, {"book": 5}):
        record = source_record(None, "v", key=key)
        if behavior == "fail":
            with pytest.raises(DataError, match=r"missing\.or\.null\.behavior sets whether"):
                applied(transformation, record)
        else:
            assert (applied(transformation, record) is not None) == (behavior == "include")
    assert applied(transformation, source_record(None, "v")) is not None


def test_filter_refuses_an_invalid_condition() -> None:
    """With the configuration, not with the first record."""
    with pytest.raises(ConfigError, match=r"Invalid value \$\[\?\( for configuration filter.condition: Invalid json"):
        made(PathFilterValue, filter__condition="$[?(", filter__type="include")


ROUTER = {"topic__format": "foo-${topic}-${timestamp}", "topic__timestamp__format": "yyyy.MM.dd"}


@pytest.mark.parametrize(
    ("value", "topic"),
    [
        ({"time": "2019-08-06"}, "foo-test-2019.08.06"),
        ({"ts": "2020-01-01", "time": "2019-08-06", "timestamp": None}, "foo-test-2019.08.06"),
        ({"ts": MOMENT}, "foo-test-2017.01.03"),
    ],
)
def test_message_timestamp_router_takes_the_first_time_there_is(value: Any, topic: str) -> None:
    """A string by its format, a number as milliseconds since 1970."""
    keys = {"message__timestamp__keys": "timestamp,time,ts", "message__timestamp__format": "yyyy-MM-dd"}
    assert applied(made(MessageTimestampRouter, **keys, **ROUTER), sink_record(None, value)).topic == topic


def test_message_timestamp_router_takes_structs_as_well() -> None:
    """Without a topic format the date is appended."""
    schema = SchemaBuilder.struct().field("ts", STRING_SCHEMA).build()
    keys = {"message__timestamp__keys": "ts", "message__timestamp__format": "dd.MM.yy"}
    record = sink_record(schema, Struct(schema).put("ts", "03.01.17"))
    assert applied(made(MessageTimestampRouter, **keys), record).topic == "test-20170103"


@pytest.mark.parametrize("value", [{"a": 1}, {"ts": True}, {"ts": "no time"}, None, "x"])
def test_message_timestamp_router_refuses_a_record_without_time(value: Any) -> None:
    """With an error message, for records and batches."""
    keys = {"message__timestamp__keys": "ts", "message__timestamp__format": "yyyy"}
    with pytest.raises(DataError):
        applied(made(MessageTimestampRouter, **keys), source_record(None, value))


@pytest.mark.parametrize(
    ("behavior", "level"),
    [
        ("ignore", logging.DEBUG),
        ("drop_silent", logging.DEBUG),
        ("warn", logging.WARNING),
        ("drop_warn", logging.WARNING),
    ],
)
def test_tombstones_are_dropped_with_one_line_in_the_log(
    behavior: str, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A batch of them is logged once."""
    caplog.set_level(logging.DEBUG)
    handler = made(TombstoneHandler, behavior=behavior)
    records = [source_record(OPTIONAL_INT32_SCHEMA, value) for value in (1, None, None, 2)]
    (batch,) = records_to_batches(records)
    outcome = transformed(handler, numbered(batch))
    assert [row for part in outcome.batches for row in part.column("row").to_pylist()] == [0, 3]
    assert [(line.levelno, line.getMessage()) for line in caplog.records] == [
        (level, "2 records were dropped from topic 'test' for want of a value")
    ]
    assert [handler.apply(record) is None for record in records] == [False, True, True, False]


def test_a_tombstone_fails_if_configured() -> None:
    """The records around it pass."""
    with pytest.raises(DataError, match="a record of topic 'test' has no value, and behavior is fail"):
        applied(made(TombstoneHandler, behavior="fail"), source_record(None, None))
    assert made(TombstoneHandler).config().keys["behavior"].default == "warn"
