"""Splits many records into lists of parts, for the columns of a batch, and builds records from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from hearth_api.header import Headers
from hearth_api.record import ConnectRecord, SinkRecord, SourceRecord, TimestampType
from hearth_api.schema import Schema


class Parts(NamedTuple):
    """The parts that differ per record, as a list for each part."""

    partitions: list[int | None]
    keys: list[Any]
    values: list[Any]
    timestamps: list[int | None]
    headers: list[Headers | None]


def parts_of(records: Sequence[ConnectRecord]) -> Parts:
    """Return the parts that differ between records of a batch, whatever their kind."""
    return Parts(
        [record.kafka_partition for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [record.timestamp for record in records],
        [record._headers for record in records],
    )


def common_parts(records: Sequence[ConnectRecord]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the parts that records of a batch share: value schemas, key schemas and topics."""
    return (
        [record.value_schema for record in records],
        [record.key_schema for record in records],
        [record.topic for record in records],
    )


def source_partitions(records: Sequence[SourceRecord]) -> list[Any]:
    """Return the source partitions of records."""
    return [record.source_partition for record in records]


def source_offsets(records: Sequence[SourceRecord]) -> list[Any]:
    """Return the source offsets of records."""
    return [record.source_offset for record in records]


def counted(offsets: Sequence[Any]) -> tuple[str, list[int]] | None:
    """Return the name and the values of the only member of all offsets; None if offsets differ in that.

    The values must be integers, as in nearly every source.
    """
    first = offsets[0]
    if type(first) is not dict or len(first) != 1:
        return None
    (name,) = first
    if type(name) is not str:
        return None
    numbers = []
    for offset in offsets:
        if type(offset) is not dict or len(offset) != 1:
            return None
        known: dict[str, Any] = offset
        number = known.get(name)
        if type(number) is not int:
            return None
        numbers.append(number)
    return name, numbers


def sink_records(
    topic: str, kind: TimestampType, original_topic: str, key_schema: Schema | None, value_schema: Schema | None,
    rows: Iterable[tuple[Any, ...]],
) -> list[SinkRecord]:  # fmt: skip
    """Return records that share these parts; calling their constructor, which fills in defaults, takes twice as long.

    A row is partition, key, value, offset, timestamp, headers, original partition and offset, and the consumed
    message.
    """
    records = []
    for partition, key, value, offset, timestamp, headers, original_partition, original_offset, consumed in rows:
        record = SinkRecord.__new__(SinkRecord)
        record.topic = topic
        record.kafka_partition = partition
        record.key_schema = key_schema
        record.key = key
        record.value_schema = value_schema
        record.value = value
        record.timestamp = timestamp
        record._headers = headers
        record.kafka_offset = offset
        record.timestamp_type = kind
        record.original_topic = original_topic
        record.original_kafka_partition = original_partition
        record.original_kafka_offset = original_offset
        record.consumed = consumed
        records.append(record)
    return records
