"""The pipeline: transformations and converters of a task, each run in its place, batch by batch."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.fetched import TIMESTAMP_TYPES, Incoming
from hearth.kafka.library import PARTITION_ANY
from hearth.kafka.producer import NO_TIMESTAMP, Outgoing
from hearth.staging.chain import Chain, Hop
from hearth.staging.place import Place, StagePlace
from hearth.staging.plugin_plan import PluginPlan, PluginSpec
from hearth_api import OPTIONAL_BYTES_SCHEMA, ConnectError
from hearth_api.batch import Batch, ColumnRun, arrow_type
from hearth_execution.failure import ErrorInfo, Failure, first_of_each_row
from hearth_execution.order import follow_each_other, numbered, rows_of
from hearth_execution.raw_header import with_changes
from hearth_execution.transformation import Outcome, without
from hearth_stage.conversion_call import Cells, Deserialize, DeserializeHeaders, Serialize, SerializeHeaders, side_of

WORKER_CLASS = "org.apache.kafka.connect.runtime.WorkerSourceTask"
"""Who sends, in Kafka Connect's reports."""


@dataclass
class Prepared:
    """What the pipeline made of what was polled together: rows to send, with their numbers, which go up in each part.

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
        earlier = ((outgoing, rows, int(np.searchsorted(rows, row))) for outgoing, rows in self.outgoing)
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
        self._reading = threading.Lock()

    @property
    def hops(self) -> list[Hop]:
        """Return the transformations of this part, those together that run in one place."""
        return self._chain.hops

    @property
    def has_stages(self) -> bool:
        """Return whether converters or transformations are in stages, which work while others do."""
        places = [*self._converter_places, *(hop.place for hop in self.hops)]
        return any(isinstance(each, StagePlace) for each in places)

    @property
    def is_chain_apart(self) -> bool:
        """Return whether all of the chain is in stages that have no converters: it works while these do."""
        places = [hop.place for hop in self.hops]
        converters = self._converter_places
        return bool(places) and all(isinstance(each, StagePlace) and each not in converters for each in places)

    @property
    def _converter_places(self) -> list[Place]:
        return [self._places[role] for role in ("key.converter", "value.converter", "header.converter")]

    def transform(self, batches: Sequence[Batch]) -> Outcome:
        """Run batches, their rows numbered, through the chain; rows of one may come between those of another."""
        return self._chain.transform(batches)

    # Towards Kafka --------------------------------------------------------------------------------------------

    def prepare(self, batches: Sequence[Batch]) -> Prepared:
        """Transform and serialize what was polled together; a row that failed is named and not among the outgoing."""
        outcome = self.transform(numbered(batches) if self.hops else batches)
        prepared = Prepared(failures=outcome.failures)
        for part in outcome.batches:
            prepared += self._serialize(part)
        prepared.outgoing = by_topic(prepared.outgoing)
        return prepared

    def _serialize(self, batch: Batch) -> Prepared:
        topic = batch.topic
        if topic is None:
            raise ConnectError("a source record has no topic", hint="the connector must name one for each record")
        rows = rows_of(batch)
        failures: list[Failure] = []
        headers = None
        if batch.column("headers") is not None:
            (part,) = numbered([batch])
            written = self._places["header.converter"].do(SerializeHeaders(topic, part))
            headers = written.column
            failures += written.failures
        sides = {side: _side(batch, side) for side in ("key", "value")}
        data: dict[str, Any] = {}
        for place, roles in self._converters:
            cells = Cells({side: sides[side] for side in map(side_of, roles)}, rows, headers)
            serialized = place.do(Serialize(roles, topic, cells))
            data |= serialized.columns
            headers = with_changes(headers, serialized.headers, len(rows))
            failures += serialized.failures
        outgoing = Outgoing(
            topic,
            data["value"],
            None if data["key"].null_count == len(rows) else data["key"],
            _partitions(batch),
            _timestamps(batch),
            headers if headers is not None and len(headers.flatten()) else None,
        )
        if failures:
            failures = first_of_each_row(failures)
            kept = np.flatnonzero(~np.isin(rows, [failure.row for failure in failures]))
            outgoing, rows = outgoing.take(kept), rows[kept]
        return Prepared([(outgoing, rows)], failures, _invalid_timestamp(outgoing, rows))

    # From Kafka -----------------------------------------------------------------------------------------------

    def deserialize(self, incoming: Incoming, first: int = 0) -> Outcome:
        """Turn consumed rows into batches of one schema each, rows numbered from ``first`` as they came."""
        with self._reading:
            return self._deserialize(incoming, first)

    def _deserialize(self, incoming: Incoming, first: int) -> Outcome:
        topic, count = incoming.topic, len(incoming.value)
        rows = np.arange(first, first + count, dtype=np.int32)
        failures: list[Failure] = []
        runs: list[list[ColumnRun]] = []
        data = {"key": incoming.key, "value": incoming.value}
        for place, roles in self._converters:
            sides = {side: ColumnRun(OPTIONAL_BYTES_SCHEMA, data[side]) for side in map(side_of, roles)}
            read = place.do(Deserialize(roles, topic, Cells(sides, rows, incoming.headers)))
            runs += read.by_converter()
            failures += read.failures
        columns = self._common_columns(incoming, rows)
        if incoming.headers is not None:
            headers = self._places["header.converter"].do(DeserializeHeaders(topic, incoming.headers))
            columns["headers"] = headers.column
            failures += [replace(failure, row=failure.row + first) for failure in headers.failures]
        batches = [_batch(incoming, columns, start, key, value) for start, key, value in _align(*runs)]
        if failures:
            failures = first_of_each_row(failures)
            batches = [batch.filter(without(batch, failures)) for batch in batches]
        return Outcome([batch for batch in batches if batch.num_rows], failures)

    def unread(self, batch: Batch) -> Incoming:
        """Return a record of a sink as it would have been read; raises what a converter raises.

        While others are read on another thread it waits: converters serve one at a time. It does not wait for
        transformations, which may be behind the very put of the task that made the record, in one stage with it.
        """
        with self._reading:
            prepared = self._serialize(batch)
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

    @staticmethod
    def _common_columns(incoming: Incoming, rows: Any) -> dict[str, Any]:
        columns = {
            "partition": pa.array(incoming.partition),
            "offset": pa.array(incoming.offset),
            "row": pa.array(rows),
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


def _partitions(batch: Batch) -> Any:
    return _numbers(batch.column("partition"), PARTITION_ANY)


def _timestamps(batch: Batch) -> Any:
    return _numbers(batch.column("timestamp"), NO_TIMESTAMP)


def _numbers(column: Any, absent: int) -> Any:
    """Return a column of numbers, or ``None`` where there is none, as a numpy array with a number for null."""
    if column is None:
        return None
    return (column.fill_null(absent) if column.null_count else column).to_numpy(zero_copy_only=False)


def _invalid_timestamp(outgoing: Outgoing, rows: Any) -> Failure | None:
    """Return the first row whose timestamp Kafka knows no meaning for; Kafka Connect does not tolerate it."""
    if outgoing.timestamp is None or not len(wrong := np.flatnonzero(outgoing.timestamp < NO_TIMESTAMP)):
        return None
    error = ConnectError(f"Invalid record timestamp {outgoing.timestamp[wrong[0]]}")
    return Failure(int(rows[wrong[0]]), "KAFKA_PRODUCE", WORKER_CLASS, ErrorInfo.of(error))


def _align(keys: list[ColumnRun], values: list[ColumnRun]) -> list[tuple[int, ColumnRun, ColumnRun]]:
    """Cut runs of keys and of values where either begins: the first row, and a run of each."""
    if len(keys) == len(values) == 1:
        return [(0, keys[0], values[0])]
    starts_of_keys = np.cumsum([0] + [len(run.column) for run in keys])
    starts_of_values = np.cumsum([0] + [len(run.column) for run in values])
    bounds = np.union1d(starts_of_keys, starts_of_values).tolist()
    pieces = []
    for start, end in zip(bounds, bounds[1:]):
        pair = [
            _piece(runs, starts, start, end) for runs, starts in ((keys, starts_of_keys), (values, starts_of_values))
        ]
        pieces.append((start, pair[0], pair[1]))
    return pieces


def _piece(runs: list[ColumnRun], starts: Any, start: int, end: int) -> ColumnRun:
    index = int(np.searchsorted(starts, start, side="right")) - 1
    run = runs[index]
    return replace(run, column=run.column.slice(start - int(starts[index]), end - start))


def _batch(incoming: Incoming, columns: dict[str, Any], start: int, key: ColumnRun, value: ColumnRun) -> Batch:
    count = len(value.column)
    own = {name: column.slice(start, count) for name, column in columns.items()}
    own["value"] = value.column
    if key.column.null_count < count:
        own["key"] = key.column
    data = pa.RecordBatch.from_arrays(list(own.values()), names=list(own))
    kind = TIMESTAMP_TYPES[incoming.timestamp_type]
    grouped = {name: run.grouped for name, run in (("key", key), ("value", value)) if run.grouped is not None}
    return Batch(incoming.topic, key.schema, value.schema, data, None, kind, incoming.topic, grouped=grouped)
