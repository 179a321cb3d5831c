"""Records are changed by copying."""

from __future__ import annotations

import pytest

from hearth_api import STRING_SCHEMA, Header, SinkRecord, SourceRecord, TimestampType, TopicPartition


def source_record() -> SourceRecord:
    """Return a record with something in every part."""
    headers = [Header("h", STRING_SCHEMA, "x")]
    return SourceRecord({"f": 1}, {"p": 2}, "t", 3, STRING_SCHEMA, "k", STRING_SCHEMA, "v", 4, headers)


def test_copy_keeps_what_is_not_changed() -> None:
    """A new record differs in the named parts only."""
    record = source_record()
    assert record.new_record() == record
    changed = record.new_record(topic="u", kafka_partition=None, value=None)
    assert (changed.topic, changed.kafka_partition, changed.value) == ("u", None, None)
    assert (changed.source_partition, changed.source_offset, changed.key) == ({"f": 1}, {"p": 2}, "k")


def test_parts_may_be_given_in_the_order_of_javas_new_record() -> None:
    """Topic, partition, key with schema, value with schema, timestamp, headers: for sources and sinks."""
    for record in (source_record(), SinkRecord("t", 3, None, None, None, "v", 7)):
        changed = record.new_record("u", 5, STRING_SCHEMA, "l", None, {"w": 1}, 6, [Header("i")])
        assert (changed.topic, changed.kafka_partition, changed.timestamp) == ("u", 5, 6)
        assert (changed.key_schema, changed.key, changed.value_schema, changed.value) == (
            STRING_SCHEMA, "l", None, {"w": 1},
        )  # fmt: skip
        assert [header.key for header in changed.headers] == ["i"]


def test_copy_has_headers_of_its_own() -> None:
    """Headers are mutable, so two records never share them."""
    record = source_record()
    record.new_record().headers.clear()
    assert len(record.headers) == 1


def test_unknown_part_is_refused() -> None:
    """A misspelt part raises."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'valeu'"):
        source_record().new_record(valeu=1)  # type: ignore[call-arg]


def test_sink_record_remembers_where_it_was_read() -> None:
    """Offsets are committed by the original topic and partition, however the record was changed."""
    record = SinkRecord("t", 1, None, None, None, "v", 7, 8, TimestampType.CREATE_TIME)
    changed = record.new_record(topic="u", kafka_partition=5)
    assert (changed.topic, changed.kafka_partition) == ("u", 5)
    assert (changed.original_topic, changed.original_kafka_partition) == ("t", 1)
    assert (changed.original_kafka_offset, changed.timestamp_type) == (7, TimestampType.CREATE_TIME)


def test_headers_are_created_on_first_access() -> None:
    """A record creates its Headers on first access."""
    record = SourceRecord(None, None, "t")
    assert not record.has_headers
    record.headers.add_string("a", "b")
    assert record.has_headers


def test_equality_covers_every_part() -> None:
    """Equal records have equal parts and hashes; empty headers equal no headers."""
    record, other = source_record(), source_record()
    assert record == other
    assert hash(record) == hash(other)
    assert record != other.new_record(timestamp=5)
    assert SourceRecord(None, None, "t") == SourceRecord(None, None, "t", headers=[])
    assert record != SinkRecord("t", 0, None, None, None, None, 0)


def test_topic_partition_reads_as_kafkas() -> None:
    """The text of a partition is Kafka's."""
    assert str(TopicPartition("a", 3)) == "a-3"


@pytest.mark.parametrize(
    "record",
    [
        SourceRecord({"p": 1}, {"o": 2}, "t", 3, STRING_SCHEMA, "k", STRING_SCHEMA, "v", 4, [Header("h")]),
        SinkRecord("t", 3, STRING_SCHEMA, "k", STRING_SCHEMA, "v", 5, 4, TimestampType.CREATE_TIME, [Header("h")]),
    ],
)
def test_copy_has_every_part(record: SourceRecord | SinkRecord) -> None:
    """Also for a plugin's subclass; parts have the constructor's names."""

    class Own(type(record)):  # type: ignore[misc]
        """A record with further attributes."""

    own = Own(**record._state())
    assert own.new_record()._state() == record._state()
    assert record.new_record(**record._state()) == record
    changed = record.new_record(headers=[Header("other")], value=None)
    assert ([each.key for each in changed.headers], changed.value, changed.key) == (["other"], None, "k")
    assert not record.new_record(headers=None).has_headers


def test_removed_original_place_defaults_to_the_current_one() -> None:
    """As if the record were created without one."""
    record = SinkRecord("t", 1, None, None, None, "x", 5).new_record(topic="u", original_topic=None)
    assert (record.original_topic, record.original_kafka_partition) == ("u", 1)
