"""Records to batches and back."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.batch import Batch
from hearth_api.batch.column import column_to_values, values_to_column
from hearth_api.batch.wire import value_from_json, value_to_json
from hearth_api.header import Header, Headers
from hearth_api.java.offset_json import offset_to_json
from hearth_api.java.schema_json import schema_from_text, schema_to_text
from hearth_api.record import ConnectRecord, SinkRecord, SourceRecord
from hearth_api.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema


def records_to_batches(records: Sequence[ConnectRecord]) -> list[Batch]:
    """Return the records as batches, in order.

    A new batch starts where topic, schemas, source partition, timestamp type or original topic change.
    """
    batches = []
    start = 0
    for index in range(1, len(records) + 1):
        if index == len(records) or not _belong_together(records[start], records[index]):
            batches.append(_batch(records[start:index]))
            start = index
    return batches


def batch_to_source_records(batch: Batch) -> list[SourceRecord]:
    """Return the rows of a batch as records of a source."""
    batch = batch.stamped()
    partition = batch.source_partition
    offsets = _values(batch, "source_offset", STRING_SCHEMA)
    parts = zip(
        offsets,
        _values(batch, "partition", INT32_SCHEMA),
        _values(batch, "key", batch.key_schema),
        _values(batch, "value", batch.value_schema),
        _values(batch, "timestamp", INT64_SCHEMA),
        _headers(batch),
        range(batch.num_rows),
        strict=False,
    )
    topic, key_schema, value_schema = batch.topic, batch.key_schema, batch.value_schema
    return [
        SourceRecord(
            partition, None if offset is None else json.loads(offset), topic, kafka_partition,
            key_schema, key, value_schema, value, timestamp, headers,
        )
        for offset, kafka_partition, key, value, timestamp, headers, _ in parts
    ]  # fmt: skip


def batch_to_sink_records(batch: Batch) -> list[SinkRecord]:
    """Return the rows of a batch as records for a sink."""
    parts = zip(
        _values(batch, "partition", INT32_SCHEMA),
        _values(batch, "key", batch.key_schema),
        _values(batch, "value", batch.value_schema),
        _values(batch, "offset", INT64_SCHEMA),
        _values(batch, "timestamp", INT64_SCHEMA),
        _headers(batch),
        _values(batch, "original_partition", INT32_SCHEMA),
        _values(batch, "original_offset", INT64_SCHEMA),
        range(batch.num_rows),
        strict=False,
    )
    topic, key_schema, value_schema = batch.topic or "", batch.key_schema, batch.value_schema
    kind, original_topic = batch.timestamp_type, batch.original_topic
    records = [
        SinkRecord(
            topic, partition, key_schema, key, value_schema, value, offset, timestamp, kind,
            headers, original_topic, original_partition, original_offset,
        )
        for partition, key, value, offset, timestamp, headers, original_partition, original_offset, _ in parts
    ]  # fmt: skip
    if batch.consumed is not None:
        for record, row in zip(records, batch.column("row").to_pylist(), strict=True):
            record.consumed = (batch.consumed, row)
    return records


def _belong_together(first: ConnectRecord, other: ConnectRecord) -> bool:
    if type(first) is not type(other) or first.topic != other.topic:
        return False
    if not (_same(first.value_schema, other.value_schema) and _same(first.key_schema, other.key_schema)):
        return False
    if isinstance(first, SourceRecord) and isinstance(other, SourceRecord):
        return _same(first.source_partition, other.source_partition)
    if isinstance(first, SinkRecord) and isinstance(other, SinkRecord):
        return first.timestamp_type is other.timestamp_type and first.original_topic == other.original_topic
    return True


def _same(first: object, other: object) -> bool:
    # Nearly always the very same object, and then nothing is compared.
    return first is other or first == other


def _batch(records: Sequence[ConnectRecord]) -> Batch:
    first = records[0]
    columns = {"value": values_to_column(first.value_schema, [record.value for record in records])}
    if any(record.key is not None for record in records):
        columns["key"] = values_to_column(first.key_schema, [record.key for record in records])
    _add(columns, "partition", INT32_SCHEMA, [record.kafka_partition for record in records])
    _add(columns, "timestamp", INT64_SCHEMA, [record.timestamp for record in records])
    if any(record.has_headers for record in records):
        columns["headers"] = headers_to_column([record.headers for record in records])
    attributes: dict[str, Any] = {}
    if isinstance(first, SourceRecord):
        attributes = {"source_partition": first.source_partition}
        _add_source(columns, [record for record in records if isinstance(record, SourceRecord)])
    elif isinstance(first, SinkRecord):
        attributes = {"timestamp_type": first.timestamp_type, "original_topic": first.original_topic}
        _add_sink(columns, [record for record in records if isinstance(record, SinkRecord)])
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(first.topic, first.key_schema, first.value_schema, data, **attributes)


def _add(columns: dict[str, Any], name: str, schema: Schema, values: list[Any]) -> None:
    if values.count(None) != len(values):
        columns[name] = values_to_column(schema, values)


def _add_source(columns: dict[str, Any], records: Sequence[SourceRecord]) -> None:
    positions = [record.source_offset for record in records]
    offsets = [None if position is None else offset_to_json(position) for position in positions]
    _add(columns, "source_offset", STRING_SCHEMA, offsets)


def _add_sink(columns: dict[str, Any], records: Sequence[SinkRecord]) -> None:
    _add(columns, "offset", INT64_SCHEMA, [record.kafka_offset for record in records])
    if any(record.original_kafka_partition != record.kafka_partition for record in records):
        partitions = [record.original_kafka_partition for record in records]
        _add(columns, "original_partition", INT32_SCHEMA, partitions)
    if any(record.original_kafka_offset != record.kafka_offset for record in records):
        _add(columns, "original_offset", INT64_SCHEMA, [record.original_kafka_offset for record in records])


def _values(batch: Batch, name: str, schema: Schema | None) -> Any:
    column = batch.column(name)
    return repeat(None) if column is None else column_to_values(schema, column)


def headers_to_column(headers: Sequence[Headers]) -> Any:
    """Return the headers of several records as a column."""
    flat = [header for group in headers for header in group]
    ends = [0]
    for group in headers:
        ends.append(ends[-1] + len(group))
    schemas = [header.schema for header in flat]
    texts = [_header_text(schema, header.value) for schema, header in zip(schemas, flat, strict=True)]
    parts = [
        pa.array([header.key for header in flat], pa.string()),
        pa.array([None if schema is None else schema_to_text(schema) for schema in schemas], pa.string()),
        pa.array(texts, pa.string()),
    ]
    entries = pa.StructArray.from_arrays(parts, names=["key", "schema", "value"])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), entries)


def column_to_headers(column: Any) -> list[Headers | None]:
    """Return the headers of several records from a column; None where a record has none."""
    return [Headers(map(_header, group)) if group else None for group in column.to_pylist()]


def distinct_headers(column: Any) -> tuple[list[Headers | None], list[int]]:
    """Return the different headers that rows of a column have, and for each row which of them.

    Most topics have few; whoever treats equal ones alike needs to look at each but once.
    """
    entries = column.flatten()
    codes = [entries.field(name).dictionary_encode("encode") for name in ("key", "schema", "value")]
    counts = pa.compute.fill_null(pa.compute.list_value_length(column), 0)
    width = counts[0].as_py() if len(counts) else 0
    if width == 1 and pa.compute.all(pa.compute.equal(counts, 1)).as_py():
        which = _places_of_single(codes)
    else:
        own = list(zip(*(code.indices.to_pylist() for code in codes)))
        ends = [0, *itertools.accumulate(counts.to_pylist())]
        places: dict[tuple[Any, ...], int] = {}
        which = [places.setdefault(tuple(own[start:end]), len(places)) for start, end in itertools.pairwise(ends)]
    firsts = dict(zip(reversed(which), range(len(which) - 1, -1, -1)))
    return column_to_headers(column.take(pa.array([firsts[place] for place in range(len(firsts))], pa.int64()))), which


def _places_of_single(codes: Sequence[Any]) -> list[int]:
    """Return which of the different headers each row has, where each has one, from the codes of their parts."""
    whole = codes[0].indices.cast(pa.int64())
    for code in codes[1:]:
        whole = pa.compute.add(pa.compute.multiply(whole, len(code.dictionary)), code.indices.cast(pa.int64()))
    places: list[int] = whole.dictionary_encode().indices.to_pylist()
    return places


def _header_text(schema: Schema | None, value: Any) -> str | None:
    return None if value is None else value_to_json(schema, value)


def _header(entry: Mapping[str, str | None]) -> Header:
    schema = None if entry["schema"] is None else schema_from_text(entry["schema"])
    value = None if entry["value"] is None else value_from_json(schema, entry["value"])
    return Header(entry["key"] or "", schema, value)


def _headers(batch: Batch) -> Iterator[Headers | None] | list[Headers | None]:
    column = batch.column("headers")
    return repeat(None) if column is None else column_to_headers(column)
