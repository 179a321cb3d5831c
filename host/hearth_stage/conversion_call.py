"""The calls to converters, and the form in which columns and headers are sent."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Annotated, Any

from hearth_api import OPTIONAL_BYTES_SCHEMA
from hearth_api.batch import Batch, ColumnRun, headers_to_column
from hearth_api.batch import arrow as pa
from hearth_execution.column_run import by_schema
from hearth_execution.converter import Converters
from hearth_execution.failure import Failure
from hearth_execution.header_conversion import HeaderConversion
from hearth_execution.order import rows_of
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import HeaderRows, RawHeaders, check_raw
from hearth_stage.call import PluginCall, check_count, operations
from hearth_stage.form import Body, Form


def _column(batch: Batch, name: str = "value") -> Any:
    column = batch.column(name)
    if column is None:
        raise ValueError(f"a batch lacks the column {name!r}")
    return column


def _of_run(run: ColumnRun) -> Batch:
    rows = {} if run.rows is None else {"row": pa.array(run.rows, pa.int32())}
    return _of_columns(run.schema, value=run.column, **rows)


def _of_columns(schema: Any, **columns: Any) -> Batch:
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(None, None, schema, data)


def side_of(role: str) -> str:
    """Return the side of a record that a converter is for: ``key`` or ``value``."""
    return role.partition(".")[0]


def _sides(batch: Batch) -> dict[str, ColumnRun]:
    """Return the key and value columns that a batch has."""
    found = ("key", batch.key_schema), ("value", batch.value_schema)
    return {side: ColumnRun(schema, column) for side, schema in found if (column := batch.column(side)) is not None}


def _of_sides(sides: Mapping[str, ColumnRun], count: int, **columns: Any) -> Batch:
    """Return a batch of keys and values; one without values gets nulls."""
    nothing = ColumnRun(None, None)
    key, value = sides.get("key", nothing), sides.get("value", nothing)
    own = {"key": key.column, "value": pa.nulls(count, pa.string()) if value.column is None else value.column}
    columns = {name: column for name, column in {**own, **columns}.items() if column is not None}
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(None, key.schema, value.schema, data)


@dataclass(frozen=True)
class Cells:
    """The keys or values of rows, or both, by side, with one schema each; and the row numbers."""

    sides: Mapping[str, ColumnRun]
    rows: Any
    headers: Any = None
    """The known headers of their Kafka records, as a raw column, or ``None`` if no record has any."""

    @classmethod
    def of(cls, batch: Batch) -> Cells:
        """Read the cells of a batch."""
        return cls(_sides(batch), rows_of(batch), batch.column("headers"))

    def to_batch(self) -> Batch:
        """Return a batch with the cells."""
        return _of_sides(self.sides, len(self.rows), row=pa.array(self.rows, pa.int32()), headers=self.headers)


def _bytes_of(batch: Batch) -> dict[str, Any]:
    return {side: run.column for side, run in _sides(batch).items()}


def _of_bytes(columns: Mapping[str, Any]) -> Batch:
    sides = {side: ColumnRun(OPTIONAL_BYTES_SCHEMA, column) for side, column in columns.items()}
    return _of_sides(sides, len(next(iter(columns.values()))))


WireCells = Annotated[Cells, Body(Cells.of, Cells.to_batch)]
WireBytes = Annotated[Mapping[str, Any], Body(_bytes_of, _of_bytes)]
WireRun = Annotated[
    ColumnRun,
    Body(
        lambda batch: ColumnRun(batch.value_schema, _column(batch), rows=batch.column("row")),
        _of_run,
    ),
]
WireHeaders = Annotated[
    Any,
    Body(
        lambda batch: _column(batch, "headers"),
        lambda column: _of_columns(OPTIONAL_BYTES_SCHEMA, value=pa.nulls(len(column), pa.binary()), headers=column),
    ),
]


def _written(headers: RawHeaders) -> list[list[str | None]]:
    return [[key, None if data is None else base64.b64encode(data).decode()] for key, data in headers]


def _read(headers: list[list[Any]]) -> RawHeaders:
    return [(str(key), None if data is None else base64.b64decode(data)) for key, data in headers]


HeadersByRow = Annotated[
    Mapping[int, RawHeaders],
    Form(
        lambda rows: {int(row): _read(own) for row, own in rows.items()},
        lambda rows: {str(row): _written(own) for row, own in rows.items()},
    ),
]
"""The headers of some rows."""


@dataclass(frozen=True)
class Serialized:
    """The bytes of each side, null for a failed row, and the changed headers by position."""

    columns: WireBytes
    failures: list[Failure] = field(default_factory=list)
    headers: HeadersByRow = field(default_factory=dict)


@dataclass(frozen=True)
class Serialize(PluginCall[Serialized], op="serialize"):
    """Converts columns of Connect data to bytes, one converter after the other.

    The headers are those written so far; each converter sees the changes of the one before.
    """

    roles: list[str]
    topic: str
    cells: WireCells

    def run(self, plugins: Plugins) -> Serialized:
        """Run the converters."""
        rows, headers = self.cells.rows, HeaderRows(self.cells.headers)
        converters = Converters(plugins)
        columns: dict[str, Any] = {}
        failures: list[Failure] = []
        for role in self.roles:
            own = self.cells.sides[side_of(role)]
            column, failed = converters.serialize(role, self.topic, own.schema, own.column, rows, headers)
            columns[side_of(role)] = column
            failures += failed
        return Serialized(columns, failures, headers.changed)

    def verify(self, reply: Serialized) -> Serialized:
        """Reject anything but columns of bytes: their memory is passed to librdkafka unchanged."""
        wanted = len(self.cells.rows)
        for role in self.roles:
            found = reply.columns.get(side_of(role))
            if found is None or str(found.type) != "binary" or len(found) != wanted:
                what = "nothing" if found is None else f"{len(found)} of {found.type}"
                raise ValueError(f"{role}: the stage returned {what} for {wanted} cells")
        if not all(0 <= position < wanted for position in reply.headers):
            raise ValueError(f"the stage returned headers outside the {wanted} cells of the call")
        return reply


@dataclass(frozen=True)
class Deserialized:
    """Connect data, one run per schema with its rows; a failed row is a null in one of them.

    The runs are ordered by converter; ``counts`` holds the number of runs of each converter.
    """

    counts: list[int]
    runs: list[WireRun]
    failures: list[Failure] = field(default_factory=list)

    def by_converter(self) -> list[list[ColumnRun]]:
        """Return the runs of each converter."""
        runs = iter(self.runs)
        return [list(islice(runs, count)) for count in self.counts]


@dataclass(frozen=True)
class Deserialize(PluginCall[Deserialized], op="deserialize"):
    """Converts columns of bytes to runs of Connect data; the headers are those of the records."""

    roles: list[str]
    topic: str
    cells: WireCells

    def run(self, plugins: Plugins) -> Deserialized:
        """Run the converters."""
        rows, headers = self.cells.rows, HeaderRows(self.cells.headers)
        converters = Converters(plugins)
        done = Deserialized([], [])
        for role in self.roles:
            data = self.cells.sides[side_of(role)].column
            runs, failures = converters.deserialize(role, self.topic, data, rows, headers)
            done.counts.append(len(runs))
            done.runs.extend(runs)
            done.failures.extend(failures)
        return done

    def verify(self, reply: Deserialized) -> Deserialized:
        """Reject runs that do not cover each row once: keys and values are matched by position."""
        found = reply.by_converter()
        if len(found) != len(self.roles) or sum(map(len, found)) != len(reply.runs):
            raise ValueError(f"it answers with {len(reply.runs)} runs of {reply.counts} for {len(self.roles)} columns")
        joined = [by_schema(runs, len(self.cells.rows)) for runs in found]
        return replace(reply, counts=[*map(len, joined)], runs=[*chain.from_iterable(joined)])


@dataclass(frozen=True)
class SerializedHeaders:
    """The headers of every row, as a raw column; a failed row has none."""

    column: WireHeaders
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class SerializeHeaders(PluginCall[SerializedHeaders], op="serialize_headers"):
    """Converts the headers of a batch to bytes."""

    topic: str
    batch: Batch

    def run(self, plugins: Plugins) -> SerializedHeaders:
        """Run the converter."""
        return SerializedHeaders(*HeaderConversion(plugins).write(self.topic, self.batch))

    def verify(self, reply: SerializedHeaders) -> SerializedHeaders:
        """Reject malformed headers, or those of other rows: their memory is passed to librdkafka."""
        check_count(len(reply.column), self.batch.num_rows)
        check_raw(reply.column)
        return reply


@dataclass(frozen=True)
class DeserializedHeaders:
    """A column of headers; a failed row has none."""

    column: WireHeaders
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class DeserializeHeaders(PluginCall[DeserializedHeaders], op="deserialize_headers"):
    """Converts a raw column of headers to a batch's headers column."""

    topic: str
    column: WireHeaders
    are_ignored: bool = False
    """Whether no plugin uses the headers: then they are read only if reading may fail."""

    def run(self, plugins: Plugins) -> DeserializedHeaders:
        """Run the converter."""
        conversion = HeaderConversion(plugins)
        if self.are_ignored and conversion.reads_any_bytes:
            return DeserializedHeaders(pa.nulls(len(self.column), headers_to_column([]).type))
        return DeserializedHeaders(*conversion.read(self.topic, self.column))

    def verify(self, reply: DeserializedHeaders) -> DeserializedHeaders:
        """Reject a column of another length."""
        check_count(len(reply.column), len(self.column))
        return reply


TO_STAGE = operations(Serialize, Deserialize, SerializeHeaders, DeserializeHeaders)
