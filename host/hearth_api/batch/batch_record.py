"""Converts records to batches and back."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, chain, islice, pairwise, repeat
from operator import itemgetter
from typing import Any, cast

from hearth_api.batch import arrow as pa
from hearth_api.batch.batch import Batch
from hearth_api.batch.column import column_to_values, fit_surely, values_to_column
from hearth_api.batch.header_list import headers_to_column
from hearth_api.batch.header_rows import column_to_headers
from hearth_api.batch.offset_column import offsets_to_column
from hearth_api.batch.packed_records import MOST_ROWS, PackedRecords, RecordKind, pack
from hearth_api.batch.record_parts import (
    Parts,
    common_parts,
    kinds_of,
    parts_of,
    source_offsets,
    source_partitions,
)
from hearth_api.record import ConnectRecord, SinkRecord, SourceRecord
from hearth_api.schema import INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema


def records_to_batches(records: Sequence[ConnectRecord]) -> list[Batch]:
    """Return the records as batches, in order.

    A new batch starts where topic, schemas, source partition, timestamp type or original topic change.
    """
    if not records:
        return []
    if not (varying := _varying(records)):
        return [_batch(records)]
    rows = list(zip(*varying))
    changes = [place for place in range(1, len(rows)) if rows[place] != rows[place - 1]]
    return [_batch(records[start:end]) for start, end in pairwise([0, *changes, len(records)])]


def records_by_kind(
    records: Sequence[ConnectRecord], *, names_only: bool = False, drops_positions: bool = False
) -> list[Batch]:
    """Return the records as one batch of each kind, in the order of the first record of each.

    Records are of one kind if `records_to_batches` would put them into one batch when adjacent. If there are several
    kinds, the column `row` gives the index of each record.

    `names_only` is for callers that only identify records: values that certainly fit their schema are omitted, with
    the schema. `drops_positions` omits source partitions and offsets.
    """
    return _by_kind(records, _varying(records, drops_positions), names_only, drops_positions)


def packed_by_kind(records: Sequence[ConnectRecord]) -> Sequence[Batch]:
    """Return what `records_by_kind` does; with many kinds and few records of each, packed (`PackedRecords`)."""
    if not records or (found := kinds_of(records)) is None:
        return records_by_kind(records)
    codes, firsts = found
    if len(firsts) == 1:
        return [_batch(records)]
    if len(records) <= MOST_ROWS * len(firsts) and (packed := _packed(records, codes, firsts)) is not None:
        return packed
    places: list[list[int]] = [[] for _ in firsts]
    for place, code in enumerate(codes):
        places[code].append(place)
    return _batches(records, places, names_only=False, drops_positions=False)


def _by_kind(
    records: Sequence[ConnectRecord], varying: Sequence[list[Any]], names_only: bool, drops_positions: bool
) -> list[Batch]:
    if not records:
        return []
    if not varying:
        return [_batch(records, names_only=names_only, drops_positions=drops_positions)]
    kinds: list[Sequence[int]] = [range(len(records))]
    for values in varying:
        kinds = [part for places in kinds for part in _split(places, values)]
    kinds.sort(key=itemgetter(0))
    if len({type(records[places[0]]) for places in kinds}) == 1:
        return _batches(records, kinds, names_only, drops_positions)
    return [
        _batch([records[place] for place in places], places, names_only=names_only, drops_positions=drops_positions)
        for places in kinds
    ]


def batch_to_source_records(batch: Batch) -> list[SourceRecord]:
    """Return the rows of a batch as source records."""
    batch = batch.stamped()
    partition, topic, key_schema, value_schema = (
        batch.source_partition, batch.topic, batch.key_schema, batch.value_schema,
    )  # fmt: skip
    offsets = _values(batch, "source_offset", STRING_SCHEMA)
    rows = zip(
        islice(offsets, batch.num_rows),
        _values(batch, "partition", INT32_SCHEMA),
        _values(batch, "key", key_schema),
        _values(batch, "value", value_schema),
        _values(batch, "timestamp", INT64_SCHEMA),
        _headers(batch),
    )
    return [
        SourceRecord(
            partition, None if offset is None else json.loads(offset), topic, kafka_partition, key_schema, key,
            value_schema, value, timestamp, headers,
        )
        for offset, kafka_partition, key, value, timestamp, headers in rows
    ]  # fmt: skip


def _varying(records: Sequence[ConnectRecord], drops_positions: bool = False) -> list[list[Any]]:
    """Return the attributes, of those common to a batch, that differ between the records.

    Common attributes are nearly always the same object in every record, and `list.count` compares by identity first.
    """
    if not records:
        return []
    kinds = list(map(type, records))
    value_schemas, key_schemas, topics = common_parts(records)
    common: list[list[Any]] = [
        kinds, _comparable(value_schemas), _comparable(key_schemas), topics, _shared(records, kinds, drops_positions),
    ]  # fmt: skip
    return [each for each in common if each.count(each[0]) != len(each)]


def _comparable(schemas: list[Any]) -> list[Any]:
    """Return schemas, or a number for each if there are several, which compare faster."""
    first, count = schemas[0], len(schemas)
    may_be_one = first is schemas[-1] and first is schemas[count // 2]  # counting would compare all different ones
    return schemas if may_be_one and schemas.count(first) == count else _codes(schemas)


def _split(places: Sequence[int], values: Sequence[Any]) -> list[Sequence[int]]:
    """Return the places grouped by equal values; usually a single attribute determines all others."""
    own = [values[place] for place in places]
    if own.count(own[0]) == len(own):
        return [places]
    parts: dict[Any, list[int]] = defaultdict(list)
    for place, code in zip(places, own if set(map(type, own)) <= {str, int} else _codes(own)):
        parts[code].append(place)
    return [*parts.values()]


def _codes(values: Sequence[Any]) -> list[int]:
    """Return a number for each value, equal for equal values; most values are one of a few objects."""
    own = list(map(id, values))
    objects = dict(zip(own, values))
    keys = list(objects.values())
    try:
        distinct = dict.fromkeys(keys)
    except TypeError:  # source partitions are not hashable
        keys = list(map(repr, keys))
        distinct = dict.fromkeys(keys)
    numbers = dict(zip(distinct, range(len(distinct))))
    codes = dict(zip(objects, map(numbers.__getitem__, keys)))
    return list(map(codes.__getitem__, own))


def _shared(
    records: Sequence[ConnectRecord], kinds: Sequence[type[ConnectRecord]], drops_positions: bool
) -> list[Any]:
    """Return what each record shares with its batch in addition to topic and schemas."""
    if kinds.count(kinds[0]) != len(kinds):
        alone = [_shared([record], [kind], drops_positions) for record, kind in zip(records, kinds)]
        return [shared for (shared,) in alone]
    if issubclass(kinds[0], SourceRecord) and not drops_positions:
        return source_partitions(cast("Sequence[SourceRecord]", records))
    if issubclass(kinds[0], SinkRecord):
        return [(record.timestamp_type, record.original_topic) for record in cast("Sequence[SinkRecord]", records)]
    return [None] * len(records)


def _packed(
    records: Sequence[ConnectRecord], codes: list[int], firsts: Sequence[SourceRecord]
) -> PackedRecords | None:
    """Return source records packed, or None if a part of one cannot be; ``firsts`` has the first of each kind."""
    parts = parts_of(records)
    if any(parts.headers):
        return None
    kinds = [RecordKind(first.topic, first.key_schema, first.value_schema, first.source_partition) for first in firsts]
    return pack(kinds, codes, parts.keys, parts.values, _other_columns(records, parts, None, drops_positions=False))


def _batch(
    records: Sequence[ConnectRecord],
    places: Sequence[int] | None = None,
    *,
    names_only: bool = False,
    drops_positions: bool = False,
) -> Batch:
    """Return records of one kind as a batch; `places` holds their indexes among other records, if any."""
    first, parts = records[0], parts_of(records)
    schema, column = _value_column(first.value_schema, parts.values, names_only)
    columns = {"value": column}
    _add(columns, "key", first.key_schema, parts.keys)
    columns |= _other_columns(records, parts, places, drops_positions)
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(first.topic, first.key_schema, schema, data, **_attributes(first, drops_positions))


def _batches(
    records: Sequence[ConnectRecord], kinds: Sequence[Sequence[int]], names_only: bool, drops_positions: bool
) -> list[Batch]:
    """Return records of one class as a batch of each kind, given by the places of their records.

    Columns of the same type are built for all kinds at once, because a column costs more than its rows.
    """
    order = list(chain.from_iterable(kinds))
    sorted_records = [records[place] for place in order]
    parts, firsts = parts_of(sorted_records), [records[places[0]] for places in kinds]
    others = _other_columns(sorted_records, parts, order, drops_positions)
    spans = list(pairwise(accumulate(map(len, kinds), initial=0)))
    keys = _columns([first.key_schema for first in firsts], parts.keys, spans, _key_column)
    values = _columns(
        [first.value_schema for first in firsts], parts.values, spans, partial(_value_column, names_only=names_only)
    )
    batches = []
    for first, (start, end), (_, key), (schema, value) in zip(firsts, spans, keys, values):
        columns = {"value": value} if key is None else {"value": value, "key": key}
        columns |= {name: column.slice(start, end - start) for name, column in others.items()}
        if "headers" in columns and not any(parts.headers[start:end]):
            del columns["headers"]
        data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        batches.append(Batch(first.topic, first.key_schema, schema, data, **_attributes(first, drops_positions)))
    return batches


def _columns(
    schemas: Sequence[Schema | None],
    values: list[Any],
    spans: Sequence[tuple[int, int]],
    make: Callable[[Schema | None, list[Any]], tuple[Schema | None, Any]],
) -> list[tuple[Schema | None, Any]]:
    """Return `make`'s column for the values of each span: slices of one column if all have one schema."""
    if schemas.count(schemas[0]) != len(schemas):
        return [make(schema, values[start:end]) for schema, (start, end) in zip(schemas, spans)]
    schema, column = make(schemas[0], values)
    return [(schema, None if column is None else column.slice(start, end - start)) for start, end in spans]


def _key_column(schema: Schema | None, keys: list[Any]) -> tuple[Schema | None, Any]:
    return schema, None if _are_absent(keys) else values_to_column(schema, keys)


def _value_column(schema: Schema | None, values: list[Any], names_only: bool) -> tuple[Schema | None, Any]:
    """Return the schema and the column of values; `names_only` omits both if the values certainly fit."""
    if names_only and fit_surely(schema, values):
        return None, pa.nulls(len(values), pa.string())
    return schema, values_to_column(schema, values)


def _other_columns(
    records: Sequence[ConnectRecord], parts: Parts, places: Sequence[int] | None, drops_positions: bool
) -> dict[str, Any]:
    """Return the columns except keys and values; their types are the same in batches of every kind."""
    columns: dict[str, Any] = {}
    _add(columns, "partition", INT32_SCHEMA, parts.partitions)
    _add(columns, "timestamp", INT64_SCHEMA, parts.timestamps)
    if any(parts.headers):
        columns["headers"] = headers_to_column(parts.headers)
    if isinstance(records[0], SourceRecord) and not drops_positions:
        positions = source_offsets(cast("Sequence[SourceRecord]", records))
        if not _are_absent(positions):
            columns["source_offset"] = offsets_to_column(positions)
    elif isinstance(records[0], SinkRecord):
        _add_sink(columns, cast("Sequence[SinkRecord]", records), parts.partitions)
    if places is not None:
        columns["row"] = pa.array(places, pa.int32())
    return columns


def _attributes(first: ConnectRecord, drops_positions: bool) -> dict[str, Any]:
    """Return the batch attributes that differ between kinds."""
    if isinstance(first, SourceRecord) and not drops_positions:
        return {"source_partition": first.source_partition}
    if isinstance(first, SinkRecord):
        return {"timestamp_type": first.timestamp_type, "original_topic": first.original_topic}
    return {}


def _add(columns: dict[str, Any], name: str, schema: Schema | None, values: list[Any]) -> None:
    if not _are_absent(values):
        columns[name] = values_to_column(schema, values)


def _are_absent(values: list[Any]) -> bool:
    return values[0] is None and values.count(None) == len(values)


def _add_sink(columns: dict[str, Any], records: Sequence[SinkRecord], present: Sequence[int | None]) -> None:
    offsets = [record.kafka_offset for record in records]
    _add(columns, "offset", INT64_SCHEMA, offsets)
    partitions = [record.original_kafka_partition for record in records]
    if partitions != present:
        _add(columns, "original_partition", INT32_SCHEMA, partitions)
    originals = [record.original_kafka_offset for record in records]
    if originals != offsets:
        _add(columns, "original_offset", INT64_SCHEMA, originals)


def _values(batch: Batch, name: str, schema: Schema | None) -> Any:
    column = batch.column(name)
    return repeat(None) if column is None else column_to_values(schema, column)


def _headers(batch: Batch) -> Any:
    column = batch.column("headers")
    return repeat(None) if column is None else column_to_headers(column)
