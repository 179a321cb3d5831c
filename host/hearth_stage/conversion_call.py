"""What is asked of converters, and how columns and headers travel to them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from hearth_api import OPTIONAL_BYTES_SCHEMA
from hearth_api.batch import Batch, ColumnRun
from hearth_api.batch import arrow as pa
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
        raise ValueError(f"a batch without the column {name!r}")
    return column


def _of_columns(schema: Any, **columns: Any) -> Batch:
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(None, None, schema, data)


@dataclass(frozen=True)
class Cells:
    """Values of one schema, each with the number of its row."""

    schema: Any
    column: Any
    rows: Any
    headers: Any = None
    """The headers of their Kafka records as far as they are known, as a raw column, or ``None`` where none has any."""

    @classmethod
    def of(cls, batch: Batch) -> Cells:
        """Take them out of a batch."""
        return cls(batch.value_schema, _column(batch), rows_of(batch), batch.column("headers"))

    def to_batch(self) -> Batch:
        """Return the batch that holds them."""
        headers = {} if self.headers is None else {"headers": self.headers}
        return _of_columns(self.schema, value=self.column, row=pa.array(self.rows, pa.int32()), **headers)


TravellingCells = Annotated[Cells, Body(Cells.of, Cells.to_batch)]
TravellingBytes = Annotated[Any, Body(_column, lambda column: _of_columns(OPTIONAL_BYTES_SCHEMA, value=column))]
TravellingRun = Annotated[
    ColumnRun,
    Body(
        lambda batch: ColumnRun(batch.value_schema, _column(batch)),
        lambda run: _of_columns(run.schema, value=run.column),
    ),
]
TravellingHeaders = Annotated[
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
    """The bytes of a column, null where a row failed, and the headers of the positions where they were changed."""

    column: TravellingBytes
    failures: list[Failure] = field(default_factory=list)
    headers: HeadersByRow = field(default_factory=dict)


@dataclass(frozen=True)
class Serialize(PluginCall[Serialized], op="serialize"):
    """Turns a column of Connect data into bytes; its headers are those written so far."""

    role: str
    topic: str
    cells: TravellingCells

    def run(self, plugins: Plugins) -> Serialized:
        """Have the converter write."""
        cells, headers = self.cells, HeaderRows(self.cells.headers)
        converters = Converters(plugins)
        column, failures = converters.serialize(self.role, self.topic, cells.schema, cells.column, cells.rows, headers)
        return Serialized(column, failures, headers.changed)

    def verify(self, reply: Serialized) -> Serialized:
        """Refuse what is no column of bytes: its memory goes to librdkafka as it is."""
        found, wanted = reply.column, len(self.cells.rows)
        if str(found.type) != "binary" or len(found) != wanted:
            raise ValueError(f"{self.role}: the stage returned {len(found)} of {found.type} for {wanted} cells")
        if not all(0 <= position < wanted for position in reply.headers):
            raise ValueError(f"{self.role}: the stage returned headers of other cells than the {wanted} it was given")
        return reply


@dataclass(frozen=True)
class Deserialized:
    """Runs of Connect data of one schema each, all rows in order; a row that failed is a null in one of them."""

    runs: list[TravellingRun]
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class Deserialize(PluginCall[Deserialized], op="deserialize"):
    """Turns bytes into runs of Connect data; the headers are those of the records."""

    role: str
    topic: str
    cells: TravellingCells

    def run(self, plugins: Plugins) -> Deserialized:
        """Have the converter read."""
        cells, headers = self.cells, HeaderRows(self.cells.headers)
        found = Converters(plugins).deserialize(self.role, self.topic, cells.column, cells.rows, headers)
        return Deserialized(*found)

    def verify(self, reply: Deserialized) -> Deserialized:
        """Refuse runs that do not add up to the rows: keys and values lie side by side."""
        check_count(sum(len(run.column) for run in reply.runs), len(self.cells.rows))
        return reply


@dataclass(frozen=True)
class SerializedHeaders:
    """The headers of every row, as a raw column; a row that failed has none."""

    column: TravellingHeaders
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class SerializeHeaders(PluginCall[SerializedHeaders], op="serialize_headers"):
    """Turns the headers of a batch into bytes."""

    topic: str
    batch: Batch

    def run(self, plugins: Plugins) -> SerializedHeaders:
        """Have the converter write."""
        return SerializedHeaders(*HeaderConversion(plugins).write(self.topic, self.batch))

    def verify(self, reply: SerializedHeaders) -> SerializedHeaders:
        """Refuse headers of other rows than there are, and what are none: their memory goes to librdkafka."""
        check_count(len(reply.column), self.batch.num_rows)
        check_raw(reply.column)
        return reply


@dataclass(frozen=True)
class DeserializedHeaders:
    """A column of headers; a row that failed has none."""

    column: TravellingHeaders
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class DeserializeHeaders(PluginCall[DeserializedHeaders], op="deserialize_headers"):
    """Turns a raw column of headers into one of a batch."""

    topic: str
    column: TravellingHeaders

    def run(self, plugins: Plugins) -> DeserializedHeaders:
        """Have the converter read."""
        return DeserializedHeaders(*HeaderConversion(plugins).read(self.topic, self.column))

    def verify(self, reply: DeserializedHeaders) -> DeserializedHeaders:
        """Refuse a column of another length."""
        check_count(len(reply.column), len(self.column))
        return reply


TO_STAGE = operations(Serialize, Deserialize, SerializeHeaders, DeserializeHeaders)
