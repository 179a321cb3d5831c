"""What any stage is asked, and what is asked of loaded plugins, wherever they are."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from hearth_api import OPTIONAL_BYTES_SCHEMA, Batch, ColumnRun
from hearth_api import arrow as pa
from hearth_execution.converter import Converters
from hearth_execution.failure import Failure
from hearth_execution.order import rows_of
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import RawHeaders
from hearth_execution.transformation import Outcome, Step, Transformations
from hearth_stage.call import Call, Notice, PluginCall
from hearth_stage.form import Body, Form

KeyInfo = dict[str, Any]
"""A ``ConfigKeyInfo`` as in Kafka Connect's REST API."""
ValueInfo = dict[str, Any]
"""A ``ConfigValueInfo`` as in Kafka Connect's REST API."""


@dataclass(frozen=True)
class Ping(Call[None], op="ping"):
    """Asks whether the main thread is free of plugins."""


@dataclass(frozen=True)
class Stacks:
    """What every thread does."""

    stacks: str = ""


@dataclass(frozen=True)
class AskStacks(Call[Stacks], op="stacks"):
    """Asks what every thread does."""


@dataclass(frozen=True)
class Stopping(Notice, op="stopping"):
    """The run is about to stop, so nothing is tried again."""


@dataclass(frozen=True)
class Described:
    """What a plugin says of itself."""

    version: str | None = None
    config: list[KeyInfo] = field(default_factory=list)


@dataclass(frozen=True)
class Describe(Call[Described], op="describe"):
    """Asks a plugin of its version and its keys, without configuring it."""

    reference: str
    type: str | None = None


@dataclass(frozen=True)
class Validated:
    """A plugin's keys, and what it makes of values for them; ``None`` for what it does not return."""

    definitions: list[KeyInfo] | None = None
    values: list[ValueInfo] | None = None


@dataclass(frozen=True)
class Validate(Call[Validated], op="validate"):
    """Lets a plugin check settings, without configuring it."""

    reference: str
    config: dict[str, Any]
    type: str | None = None
    prefix: str = ""


@dataclass(frozen=True)
class Configure(Call[None], op="configure"):
    """Makes ready for the plugins of a task, and closes what was loaded; times are in milliseconds."""

    type: str
    retry_timeout: int
    retry_delay_max: int


@dataclass(frozen=True)
class WantedPlugin:
    """A plugin to load for a role; ``class_name`` is what users call it."""

    role: str
    class_name: str
    reference: str
    config: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """The versions of plugins, in the order in which they were wanted."""

    versions: list[str | None] = field(default_factory=list)


@dataclass(frozen=True)
class Load(PluginCall[Loaded], op="load"):
    """Creates and configures plugins."""

    plugins: list[WantedPlugin]

    def run(self, plugins: Plugins) -> Loaded:
        """Load one after the other."""
        return Loaded([plugins.load(each.role, each.class_name, each.reference, each.config) for each in self.plugins])


@dataclass(frozen=True)
class Apply(PluginCall[Outcome], op="apply"):
    """Runs consecutive transformation steps."""

    steps: list[Step]
    batch: Batch

    def run(self, plugins: Plugins) -> Outcome:
        """Run the steps."""
        return Transformations(plugins).apply(self.steps, self.batch)


def _mask(answers: Any) -> Any:
    if not isinstance(answers, list) or not set(map(type, answers)) <= {bool}:
        raise ValueError("a mask is a list of true and false")
    return pa.array(answers, pa.bool_())


TravellingMask = Annotated[Any, Form(_mask, lambda mask: mask.to_pylist())]


@dataclass(frozen=True)
class PredicateAnswers:
    """A predicate's answers, a boolean for each row, and the rows it failed on, where the answer is false."""

    mask: TravellingMask
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class AskPredicate(PluginCall[PredicateAnswers], op="test"):
    """Asks a predicate about every row."""

    role: str
    batch: Batch

    def run(self, plugins: Plugins) -> PredicateAnswers:
        """Ask it."""
        return PredicateAnswers(*Transformations(plugins).test(self.role, self.batch))

    def verify(self, reply: PredicateAnswers) -> PredicateAnswers:
        """Refuse too few answers."""
        _check_count(len(reply.mask), self.batch.num_rows)
        return reply


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

    @classmethod
    def of(cls, batch: Batch) -> Cells:
        """Take them out of a batch."""
        return cls(batch.value_schema, _column(batch), rows_of(batch))

    def to_batch(self) -> Batch:
        """Return the batch that holds them."""
        return _of_columns(self.schema, value=self.column, row=pa.array(self.rows, pa.int32()))


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


HeadersInOrder = Annotated[
    list[RawHeaders],
    Form(lambda rows: [_read(own) for own in rows], lambda rows: [_written(own) for own in rows]),
]
"""The headers of all rows."""
HeadersByRow = Annotated[
    Mapping[int, RawHeaders],
    Form(
        lambda rows: {int(row): _read(own) for row, own in rows.items()},
        lambda rows: {str(row): _written(own) for row, own in rows.items()},
    ),
]
"""The headers of the rows that have some."""


@dataclass(frozen=True)
class Serialized:
    """The bytes of a column, null where a row failed, and the headers of the positions where they were changed."""

    column: TravellingBytes
    failures: list[Failure] = field(default_factory=list)
    headers: HeadersByRow = field(default_factory=dict)


@dataclass(frozen=True)
class Serialize(PluginCall[Serialized], op="serialize"):
    """Turns a column of Connect data into bytes; ``headers`` are those written so far, by position."""

    role: str
    topic: str
    cells: TravellingCells
    headers: HeadersByRow = field(default_factory=dict)

    def run(self, plugins: Plugins) -> Serialized:
        """Have the converter write."""
        cells, headers = self.cells, dict(self.headers)
        converters = Converters(plugins)
        column, failures = converters.serialize(self.role, self.topic, cells.schema, cells.column, cells.rows, headers)
        changed = {row: own for row, own in headers.items() if own is not self.headers.get(row)}
        return Serialized(column, failures, changed)

    def verify(self, reply: Serialized) -> Serialized:
        """Refuse what is no column of bytes: its memory goes to librdkafka as it is."""
        found, wanted = reply.column, len(self.cells.rows)
        if str(found.type) != "binary" or len(found) != wanted:
            raise ValueError(f"{self.role}: the stage returned {len(found)} of {found.type} for {wanted} cells")
        return reply


@dataclass(frozen=True)
class Deserialized:
    """Runs of Connect data of one schema each, all rows in order; a row that failed is a null in one of them."""

    runs: list[TravellingRun]
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class Deserialize(PluginCall[Deserialized], op="deserialize"):
    """Turns bytes into runs of Connect data; ``headers`` are those of the records, by position."""

    role: str
    topic: str
    cells: TravellingCells
    headers: HeadersByRow = field(default_factory=dict)

    def run(self, plugins: Plugins) -> Deserialized:
        """Have the converter read."""
        cells = self.cells
        found = Converters(plugins).deserialize(self.role, self.topic, cells.column, cells.rows, self.headers)
        return Deserialized(*found)

    def verify(self, reply: Deserialized) -> Deserialized:
        """Refuse runs that do not add up to the rows: keys and values lie side by side."""
        _check_count(sum(len(run.column) for run in reply.runs), len(self.cells.rows))
        return reply


@dataclass(frozen=True)
class SerializedHeaders:
    """The headers of every row; a row that failed has none."""

    rows: HeadersInOrder
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class SerializeHeaders(PluginCall[SerializedHeaders], op="serialize_headers"):
    """Turns the headers of a batch into bytes."""

    topic: str
    batch: Batch

    def run(self, plugins: Plugins) -> SerializedHeaders:
        """Have the converter write."""
        return SerializedHeaders(*Converters(plugins).write_headers(self.topic, self.batch))

    def verify(self, reply: SerializedHeaders) -> SerializedHeaders:
        """Refuse headers of other rows than there are."""
        _check_count(len(reply.rows), self.batch.num_rows)
        return reply


@dataclass(frozen=True)
class DeserializedHeaders:
    """A column of headers; a row that failed has none."""

    column: TravellingHeaders
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True)
class DeserializeHeaders(PluginCall[DeserializedHeaders], op="deserialize_headers"):
    """Turns the bytes of headers, by row, into a column of ``count`` rows."""

    topic: str
    rows: HeadersByRow
    count: int

    def run(self, plugins: Plugins) -> DeserializedHeaders:
        """Have the converter read."""
        return DeserializedHeaders(*Converters(plugins).read_headers(self.topic, self.rows, self.count))

    def verify(self, reply: DeserializedHeaders) -> DeserializedHeaders:
        """Refuse a column of another length."""
        _check_count(len(reply.column), self.count)
        return reply


def _check_count(found: int, wanted: int) -> None:
    """Raise unless every row is answered for (invariant 3)."""
    if found != wanted:
        raise ValueError(f"it answers for {found} rows of {wanted}")
