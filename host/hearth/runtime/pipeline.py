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
"""How many kinds of packed records are cached."""

WORKER_CLASS = "org.apache.kafka.connect.runtime.WorkerSourceTask"
"""The class named by Kafka Connect's reports about sending."""


@dataclass
class Prepared:
    """Rows to send from one poll, with their row numbers, which ascend within each topic.

    ``failures`` are for ``errors.tolerance`` to judge; ``end`` is the first that fails the task whatever is tolerated.
    """

    outgoing: list[tuple[Outgoing, Any]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    end: Failure | None = None

    def __iadd__(self, other: Prepared) -> Prepared:
        """Add the rows of another part of the poll."""
        self.outgoing += other.outgoing
        self.failures += other.failures
        ends = [each for each in (self.end, other.end) if each is not None]
        self.end = min(ends, key=lambda each: each.row, default=None)
        return self

    def before(self, row: int) -> Prepared:
        """Return what precedes a row."""
        earlier = ((outgoing, rows, int(np.searchsorted(rows, row))) for outgoing, rows in apart(self.outgoing))
        return Prepared(
            [(outgoing.slice(0, count), rows[:count]) for outgoing, rows, count in earlier if count],
            [failure for failure in self.failures if failure.row < row],
        )


class Pipeline:
    """The part of a task's pipeline between its stage process and Kafka (see ``split``)."""

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
        """Whether converters or transformations run in stages, in parallel with this process."""
        self.is_apart = self.has_stages and self._chain.places.isdisjoint(converters)
        """Whether there are stages and none has both converters and transformations, so that these run in parallel."""
        self.wants_headers = True
        """Whether the task or transformations may read the headers of consumed records."""
        self._reading = threading.Lock()
        self._writers: dict[bytes, tuple[Any, Any]] = {}
        """Key and value writers of packed records, by the encoded kind."""

    @property
    def hops(self) -> list[Hop]:
        """Return the transformations of this part, grouped by the place where they run."""
        return self._chain.hops

    @property
    def takes_packed(self) -> bool:
        """Return whether records may be packed: no transformation runs here, and both converters write rows."""
        return not self.hops and None not in [self._row_writer(side, "", None) for side in ("key", "value")]

    def transform(self, batches: Sequence[Batch]) -> Outcome:
        """Run batches with numbered rows through the transformations; rows of different batches may interleave."""
        return self._chain.transform(batches)

    # Towards Kafka --------------------------------------------------------------------------------------------

    def preparing(self, batches: Sequence[Batch]) -> Callable[[], Prepared]:
        """Transform a poll and start to serialize it; the returned function waits for the result.

        Failed rows are in ``failures`` and not among the outgoing.
        """
        if isinstance(batches, PackedRecords) and (prepared := self._written(batches)) is not None:
            return lambda: prepared
        outcome = self.transform(numbered(batches) if self.hops else batches)
        parts = join_sources(outcome.batches)
        return partial(_prepared, outcome.failures, [self._serializing(part) for part in parts])

    def _written(self, packed: PackedRecords) -> Prepared | None:
        """Return packed records serialized row by row; None if some need columns, for example one that fails."""
        if not self.takes_packed:
            return None
        keys, values = zip(*map(self._row_writers, packed.texts, packed.kinds))
        if None in keys or None in values:
            return None
        sent = written(packed, keys, values, _partitions(packed), _timestamps(packed))
        return None if sent is None else Prepared([sent], end=_invalid_timestamp(*sent))

    def _row_writers(self, text: bytes, kind: RecordKind) -> tuple[Any, Any]:
        """Return the writers of a kind's keys and values."""
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
        """Start to serialize a batch. Each converter gets the headers as the converters before it left them."""
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
        """Start to deserialize consumed rows; the returned function waits for the result.

        That is a batch for each pair of schemas, with rows numbered from ``first`` in order.
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
        """Return a record of a sink in its consumed form; raises what a converter raises.

        It waits while another thread reads records: converters serve one call at a time. It does not wait for
        transformations, which may share a stage with the task and be queued after the put that created the record.
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
    """A batch of a source being serialized: the converters' results so far."""

    batch: Batch
    topic: str
    rows: Any
    columns: dict[str, Any] = field(default_factory=dict)
    headers: Any = None
    failures: list[Failure] = field(default_factory=list)

    @classmethod
    def of(cls, batch: Batch) -> _Serialization:
        """Start with a batch; raises ``ConnectError`` if it has no topic."""
        if batch.topic is None:
            raise ConnectError("a source record has no topic", hint="the connector must set one on each record")
        return cls(batch, batch.topic, rows_of(batch))

    def call(self, roles: list[str]) -> Serialize:
        """Return the call for these converters."""
        sides = {side: _side(self.batch, side) for side in map(side_of, roles)}
        return Serialize(roles, self.topic, Cells(sides, self.rows, self.headers))

    def take_headers(self, written: SerializedHeaders) -> None:
        """Add the serialized headers, before any converter is called."""
        self.headers = written.column
        self.failures += written.failures

    def take(self, serialized: Serialized) -> None:
        """Add the answer of converters."""
        self.columns |= serialized.columns
        self.headers = with_changes(self.headers, serialized.headers, len(self.rows))
        self.failures += serialized.failures

    def prepared(self) -> Prepared:
        """Return the rows to send, after all converters have answered."""
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
    """Wait for all parts of a poll; ``failures`` are of rows that failed before."""
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
    """Wait for the converters' results for consumed rows, which are numbered from ``first``."""
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
    """Group consecutive converters of the same place, to call them together."""
    return [(place, [role for _, role in group]) for place, group in groupby(converters, itemgetter(0))]


def _side(batch: Batch, side: str) -> ColumnRun:
    schema = batch.key_schema if side == "key" else batch.value_schema
    column = batch.column(side)
    return ColumnRun(schema, pa.nulls(batch.num_rows, arrow_type(schema)) if column is None else column)


def by_topic(parts: Sequence[tuple[Outgoing, Any]]) -> list[tuple[Outgoing, Any]]:
    """Return rows to send with ascending numbers per topic, the order in which Kafka Connect sends them."""
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
    """Return a column of numbers as a numpy array with ``absent`` for null, or ``None`` if there is no column."""
    if column is None:
        return None
    return (column.fill_null(absent) if column.null_count else column).to_numpy(zero_copy_only=False)


def _invalid_timestamp(outgoing: Outgoing, rows: Any) -> Failure | None:
    """Return the first row with a negative timestamp, which Kafka Connect does not tolerate."""
    if outgoing.timestamp is None or not len(wrong := np.flatnonzero(outgoing.timestamp < NO_TIMESTAMP)):
        return None
    first = wrong[rows[wrong].argmin()]
    error = ConnectError(f"Invalid record timestamp {outgoing.timestamp[first]}")
    return Failure(int(rows[first]), "KAFKA_PRODUCE", WORKER_CLASS, ErrorInfo.of(error))


def _batch(incoming: Incoming, columns: dict[str, Any], rows: Any, key: ColumnRun, value: ColumnRun) -> Batch:
    """Return a batch of these keys and values, with the other columns at ``rows`` (``None``: all)."""
    own = columns if rows is None else {name: taken(column, rows) for name, column in columns.items()}
    own = {**own, "value": value.column}
    if key.column.null_count < len(key.column):
        own["key"] = key.column
    data = pa.RecordBatch.from_arrays(list(own.values()), names=list(own))
    kind = TIMESTAMP_TYPES[incoming.timestamp_type]
    return Batch(incoming.topic, key.schema, value.schema, data, None, kind, incoming.topic)
