"""Many records taken apart and put together again, for the columns of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from hearth_api.header import Headers
from hearth_api.record import ConnectRecord, SinkRecord, SourceRecord, TimestampType
from hearth_api.schema import Schema


class Parts(NamedTuple):
    """What every kind of record has, a list for each part."""

    topics: list[str | None]
    partitions: list[int | None]
    key_schemas: list[Schema | None]
    keys: list[Any]
    value_schemas: list[Schema | None]
    values: list[Any]
    timestamps: list[int | None]
    headers: list[Headers | None]


def parts_of(records: Sequence[ConnectRecord]) -> Parts:
    """Return the parts of records of any kinds."""
    return Parts(
        [record.topic for record in records],
        [record.kafka_partition for record in records],
        [record.key_schema for record in records],
        [record.key for record in records],
        [record.value_schema for record in records],
        [record.value for record in records],
        [record.timestamp for record in records],
        [record._headers for record in records],
    )


def source_partitions(records: Sequence[SourceRecord]) -> list[Any]:
    """Return the source partitions of records."""
    return [record.source_partition for record in records]


def source_offsets(records: Sequence[SourceRecord]) -> list[Any]:
    """Return the source offsets of records."""
    return [record.source_offset for record in records]


def source_records(
    topic: str | None, source_partition: Any, key_schema: Schema | None, value_schema: Schema | None,
    rows: Iterable[tuple[Any, ...]],
) -> list[SourceRecord]:  # fmt: skip
    """Return records that share these; a row is offset, partition, key, value, timestamp and headers of one."""
    records = []
    for source_offset, partition, key, value, timestamp, headers in rows:
        record = SourceRecord.__new__(SourceRecord)
        record.topic = topic
        record.kafka_partition = partition
        record.key_schema = key_schema
        record.key = key
        record.value_schema = value_schema
        record.value = value
        record.timestamp = timestamp
        record._headers = headers
        record.source_partition = source_partition
        record.source_offset = source_offset
        records.append(record)
    return records


def sink_records(
    topic: str, kind: TimestampType, original_topic: str, key_schema: Schema | None, value_schema: Schema | None,
    rows: Iterable[tuple[Any, ...]],
) -> list[SinkRecord]:  # fmt: skip
    """Return records that share these.

    A row is partition, key, value, offset, timestamp, headers, the original partition and offset of a record, and what
    it was consumed as.
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
