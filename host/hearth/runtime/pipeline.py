"""The pipeline: transformations and converters of a task, each run in its place, batch by batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.fetched import TIMESTAMP_TYPES, Incoming
from hearth.kafka.library import PARTITION_ANY
from hearth.kafka.outgoing import NO_TIMESTAMP, Outgoing, apart
from hearth.runtime.packed_rows import written
from hearth.staging.chain import Chain, Hop
from hearth.staging.place import Place, StagePlace
from hearth.staging.plugin_plan import PluginPlan, PluginSpec
from hearth_api import OPTIONAL_BYTES_SCHEMA, ConnectError, Schema
from hearth_api.batch import Batch, ColumnRun, PackedRecords, RecordKind, arrow_type
from hearth_execution.column_run import paired, taken
from hearth_execution.failure import ErrorInfo, Failure, first_of_each_row
from hearth_execution.order import follow_each_other, in_order, join_sources, numbered, rows_of
from hearth_execution.raw_header import with_changes
from hearth_execution.transformation import Outcome, without
from hearth_stage.conversion_call import (
    Cells,
    Deserialize,
    Deserialized,
    DeserializedHeaders,
    DeserializeHeaders,
    Serialize,
    Serialized,
    SerializedHeaders,
    SerializeHeaders,
    side_of,
)

_REMEMBERED = 4096
"""Kinds of packed records that are remembered."""

WORKER_CLASS = "org.apache.kafka.connect.runtime.WorkerSourceTask"
"""Who sends, in Kafka Connect's reports."""


@dataclass
class Prepared:
    """What the pipeline made of what was polled together: rows to send and their numbers, which go up for each topic.

    ``failures`` are for ``errors.tolerance`` to judge; ``end`` is the first that fails the task whatever is tolerated.
    """

    outgoing: list[tuple[Outgoing, Any]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    end: Failure | None = None

    def __iadd__(self, other: Prepared) -> Prepared:
        """Take in what was made of another part of what was polled."""
        self.outgoing += other.outgoing
        self.failures += other.failures
        ends = [each for each in (self.end, other.end) if each is not None]
        self.end = min(ends, key=lambda each: each.row, default=None)
        return self

    def before(self, row: int) -> Prepared:
        """Return what comes before a row."""
        earlier = ((outgoing, rows, int(np.searchsorted(rows, row))) for outgoing, rows in apart(self.outgoing))
        return Prepared(
            [(outgoing.slice(0, count), rows[:count]) for outgoing, rows, count in earlier if count],
            [failure for failure in self.failures if failure.row < row],
        )


class Pipeline:
    """The part of a task's pipeline between its stage process and Kafka (``split`` says which part that is)."""

    def __init__(
        self, plan: PluginPlan, places: Mapping[str | None, Place], transformations: Sequence[PluginSpec]
    ) -> None:
        """``transformations`` are those of this part, in order."""
        others = (plugin for plugin in plan.plugins if plugin.role != "task")
        self._places = {plugin.role: places[plugin.environment] for plugin in others}
        self._converters = _together([(self._places[role], role) for role in ("key.converter", "value.converter")])
        self._chain = Chain(plan, places, transformations)
        converters = {self._places[role] for role in ("key.converter", "value.converter", "header.converter")}
        self.has_stages = any(isinstance(each, StagePlace) for each in self._chain.places | converters)
        """Whether converters or transformations are in stages, which work while others do."""
        self.is_apart = self.has_stages and self._chain.places.isdisjoint(converters)
        """Whether there are stages, and none with both converters and transformations: these work at once."""
        self.wants_headers = True
        """Whether what follows the converters may look at the headers of consumed records."""
        self._reading = threading.Lock()
        self._writers: dict[bytes, tuple[Any, Any]] = {}
        """What writes keys and values of packed records, by their kinds' texts."""

    @property
    def hops(self) -> list[Hop]:
        """Return the transformations of this part, those together that run in one place."""
        return self._chain.hops

    @property
    def takes_packed(self) -> bool:
        """Return whether records may come packed: nothing is made of them before they are written here."""
        return not self.hops and None not in [self._row_writer(side, "", None) for side in ("key", "value")]

    def transform(self, batches: Sequence[Batch]) -> Outcome:
        """Run batches, their rows numbered, through the chain; rows of one may come between those of another."""
        return self._chain.transform(batches)

    # Towards Kafka --------------------------------------------------------------------------------------------

    def preparing(self, batches: Sequence[Batch]) -> Callable[[], Prepared]:
        """Transform what was polled together, and have it serialized; what is returned waits for that.

        A row that failed is named and not among the outgoing.
        """
        if isinstance(batches, PackedRecords) and (prepared := self._written(batches)) is not None:
            return lambda: prepared
        outcome = self.transform(numbered(batches) if self.hops else batches)
        parts = join_sources(outcome.batches)
        return partial(_prepared, outcome.failures, [self._serializing(part) for part in parts])

    def _written(self, packed: PackedRecords) -> Prepared | None:
        """Return packed records as they are sent; None where columns are needed of some, as for one that fails."""
        if not self.takes_packed:
            return None
        keys, values = zip(*map(self._row_writers, packed.texts, packed.kinds))
        if None in keys or None in values:
            return None
        sent = written(packed, keys, values, _partitions(packed), _timestamps(packed))
        return None if sent is None else Prepared([sent], end=_invalid_timestamp(*sent))

    def _row_writers(self, text: bytes, kind: RecordKind) -> tuple[Any, Any]:
        """Return what writes keys and values of a kind."""
        if (found := self._writers.get(text)) is None:
            if len(self._writers) >= _REMEMBERED:
                self._writers.clear()
            topic = kind.topic or ""
            found = (
                self._row_writer("key", topic, kind.key_schema),
                self._row_writer("value", topic, kind.value_schema),
            )
            self._writers[text] = found
        return found

    def _row_writer(self, side: str, topic: str, schema: Schema | None) -> Any:
        role = f"{side}.converter"
        return self._places[role].row_writer(role, topic, schema)

    def _serializing(self, batch: Batch) -> Callable[[], Prepared]:
        """Have a batch serialized; a converter is asked when it is known what those before it made of the headers."""
        made = _Serialization.of(batch)
        if batch.column("headers") is not None:
            (part,) = numbered([batch])
            made.take_headers(self._places["header.converter"].do(SerializeHeaders(made.topic, part)))
        for place, roles in self._converters[:-1]:
            made.take(place.do(made.call(roles)))
        place, roles = self._converters[-1]
        last = place.begin(made.call(roles))

        def wait() -> Prepared:
            made.take(last())
            return made.prepared()

        return wait

    # From Kafka -----------------------------------------------------------------------------------------------

    def deserializing(self, incoming: Incoming, first: int = 0) -> Callable[[], Outcome]:
        """Have consumed rows deserialized; what is returned waits for that.

        It returns a batch of each pair of schemas, rows numbered from ``first`` as they came.
        """
        rows = _numbered_from(first, incoming)
        data = {"key": incoming.key, "value": incoming.value}
        reads: list[Callable[[], Deserialized]] = []
        headers: Callable[[], DeserializedHeaders] | None = None
        with self._reading:
            for place, roles in self._converters:
                sides = {side: ColumnRun(OPTIONAL_BYTES_SCHEMA, data[side]) for side in map(side_of, roles)}
                cells = Cells(sides, rows, incoming.headers)
                reads.append(place.begin(Deserialize(roles, incoming.topic, cells)))
            if incoming.headers is not None:
                place = self._places["header.converter"]
                call = DeserializeHeaders(incoming.topic, incoming.headers, are_ignored=not self.wants_headers)
                headers = place.begin(call)
        return partial(_deserialized, incoming, first, reads, headers)

    def unread(self, batch: Batch) -> Incoming:
        """Return a record of a sink as it would have been read; raises what a converter raises.

        While others are read on another thread it waits: converters serve one at a time. It does not wait for
        transformations, which may be behind the very put of the task that made the record, in one stage with it.
        """
        with self._reading:
            prepared = self._serializing(batch)()
        for failure in prepared.failures:
            raise failure.error.to_error()
        ((outgoing, _),) = prepared.outgoing
        return Incoming(
            topic=outgoing.topic,
            partition=np.array([-1]) if outgoing.partition is None else outgoing.partition,
            offset=batch.column("offset").to_numpy(),
            key=pa.nulls(1, pa.binary()) if outgoing.key is None else outgoing.key,
            value=outgoing.value,
            timestamp=outgoing.timestamp,
            timestamp_type=TIMESTAMP_TYPES.index(batch.timestamp_type),
            headers=outgoing.headers,
        )


@dataclass
class _Serialization:
    """A batch of a source on its way to bytes: what converters made of it by now."""

    batch: Batch
    topic: str
    rows: Any
    columns: dict[str, Any] = field(default_factory=dict)
    headers: Any = None
    failures: list[Failure] = field(default_factory=list)

    @classmethod
    def of(cls, batch: Batch) -> _Serialization:
        """Begin with a batch; raises ``ConnectError`` for one that goes nowhere."""
        if batch.topic is None:
            raise ConnectError("a source record has no topic", hint="the connector must name one for each record")
        return cls(batch, batch.topic, rows_of(batch))

    def call(self, roles: list[str]) -> Serialize:
        """Return the call of these converters."""
        sides = {side: _side(self.batch, side) for side in map(side_of, roles)}
        return Serialize(roles, self.topic, Cells(sides, self.rows, self.headers))

    def take_headers(self, written: SerializedHeaders) -> None:
        """Take in the headers, before any converter is called."""
        self.headers = written.column
        self.failures += written.failures

    def take(self, serialized: Serialized) -> None:
        """Take in what converters answered."""
        self.columns |= serialized.columns
        self.headers = with_changes(self.headers, serialized.headers, len(self.rows))
        self.failures += serialized.failures

    def prepared(self) -> Prepared:
        """Return what is to be sent, when all converters have answered."""
        rows, headers = self.rows, self.headers
        outgoing = Outgoing(
            self.topic,
            self.columns["value"],
            None if self.columns["key"].null_count == len(rows) else self.columns["key"],
            _partitions(self.batch),
            _timestamps(self.batch),
            headers if headers is not None and len(headers.flatten()) else None,
        )
        failures = self.failures
        if failures:
            failures = first_of_each_row(failures)
            kept = np.flatnonzero(~np.isin(rows, [failure.row for failure in failures]))
            outgoing, rows = outgoing.take(kept), rows[kept]
        return Prepared([(outgoing, rows)], failures, _invalid_timestamp(outgoing, rows))


def _prepared(failures: list[Failure], parts: Sequence[Callable[[], Prepared]]) -> Prepared:
    """Wait for all parts of what was polled together, of which some rows failed already."""
    prepared = Prepared(failures=failures)
    for part in parts:
        prepared += part()
    prepared.outgoing = by_topic(prepared.outgoing)
    return prepared


def _numbered_from(first: int, incoming: Incoming) -> Any:
    return np.arange(first, first + len(incoming.value), dtype=np.int32)


def _deserialized(
    incoming: Incoming,
    first: int,
    reads: Sequence[Callable[[], Deserialized]],
    headers: Callable[[], DeserializedHeaders] | None,
) -> Outcome:
    """Wait for what converters make of consumed rows, which are numbered from ``first``."""
    failures: list[Failure] = []
    runs: list[list[ColumnRun]] = []
    for read in (wait() for wait in reads):
        runs += read.by_converter()
        failures += read.failures
    columns = _common_columns(incoming, first)
    if headers is not None:
        found = headers()
        columns["headers"] = found.column
        failures += [replace(failure, row=failure.row + first) for failure in found.failures]
    keys, values = runs
    pairs = paired(keys, values, len(incoming.value))
    batches = in_order([_batch(incoming, columns, rows, key, value) for rows, key, value in pairs])
    if failures:
        failures = first_of_each_row(failures)
        batches = [batch.filter(without(batch, failures)) for batch in batches]
    return Outcome([batch for batch in batches if batch.num_rows], failures)


def _common_columns(incoming: Incoming, first: int) -> dict[str, Any]:
    columns = {
        "partition": pa.array(incoming.partition),
        "offset": pa.array(incoming.offset),
        "row": pa.array(_numbered_from(first, incoming)),
    }
    if incoming.timestamp_type:
        columns["timestamp"] = pa.array(incoming.timestamp)
    return columns


def _together(converters: Sequence[tuple[Place, str]]) -> list[tuple[Place, list[str]]]:
    """Return places with the converters there: those of one place that follow each other are asked in one call."""
    return [(place, [role for _, role in group]) for place, group in groupby(converters, itemgetter(0))]


def _side(batch: Batch, side: str) -> ColumnRun:
    schema = batch.key_schema if side == "key" else batch.value_schema
    column = batch.column(side)
    return ColumnRun(schema, pa.nulls(batch.num_rows, arrow_type(schema)) if column is None else column)


def by_topic(parts: Sequence[tuple[Outgoing, Any]]) -> list[tuple[Outgoing, Any]]:
    """Return rows to send such that those of one topic go up in their numbers, as Kafka Connect would send them."""
    filled = sorted((part for part in parts if len(part[1])), key=lambda part: int(part[1][0]))
    topics: dict[str, list[tuple[Outgoing, Any]]] = {}
    for part in filled:
        topics.setdefault(part[0].topic, []).append(part)
    return [part for own in topics.values() for part in _in_turn(own)]


def _in_turn(parts: Sequence[tuple[Outgoing, Any]]) -> Sequence[tuple[Outgoing, Any]]:
    return parts if follow_each_other([rows for _, rows in parts]) else [_woven(parts)]


def _woven(parts: Sequence[tuple[Outgoing, Any]]) -> tuple[Outgoing, Any]:
    rows = np.concatenate([own for _, own in parts])
    order = np.argsort(rows)
    return Outgoing.join([outgoing for outgoing, _ in parts]).take(order), rows[order]


def _partitions(records: Batch | PackedRecords) -> Any:
    return _numbers(records.column("partition"), PARTITION_ANY)


def _timestamps(records: Batch | PackedRecords) -> Any:
    return _numbers(records.column("timestamp"), NO_TIMESTAMP)


def _numbers(column: Any, absent: int) -> Any:
    """Return a column of numbers, or ``None`` where there is none, as a numpy array with a number for null."""
    if column is None:
        return None
    return (column.fill_null(absent) if column.null_count else column).to_numpy(zero_copy_only=False)


def _invalid_timestamp(outgoing: Outgoing, rows: Any) -> Failure | None:
    """Return the first row whose timestamp Kafka knows no meaning for; Kafka Connect does not tolerate it."""
    if outgoing.timestamp is None or not len(wrong := np.flatnonzero(outgoing.timestamp < NO_TIMESTAMP)):
        return None
    first = wrong[rows[wrong].argmin()]
    error = ConnectError(f"Invalid record timestamp {outgoing.timestamp[first]}")
    return Failure(int(rows[first]), "KAFKA_PRODUCE", WORKER_CLASS, ErrorInfo.of(error))


def _batch(incoming: Incoming, columns: dict[str, Any], rows: Any, key: ColumnRun, value: ColumnRun) -> Batch:
    """Return the records whose keys and values these are, at some places of what was read, or at all of them."""
    own = columns if rows is None else {name: taken(column, rows) for name, column in columns.items()}
    own = {**own, "value": value.column}
    if key.column.null_count < len(key.column):
        own["key"] = key.column
    data = pa.RecordBatch.from_arrays(list(own.values()), names=list(own))
    kind = TIMESTAMP_TYPES[incoming.timestamp_type]
    grouped = {name: run.grouped for name, run in (("key", key), ("value", value)) if run.grouped is not None}
    return Batch(incoming.topic, key.schema, value.schema, data, None, kind, incoming.topic, grouped=grouped)
