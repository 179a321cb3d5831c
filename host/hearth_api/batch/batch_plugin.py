"""Base classes for plugins that receive batches instead of records, in addition to their usual class.

The host checks with `isinstance`. The form for records is required and authoritative; the form for batches is an
optimisation with the same result. If columns do not suffice, for example for schemaless data, a batch method returns
`NotImplemented`, and the host uses the form for records for that batch, with everything it changes: values, headers,
timestamps, partitions. The method must decide this before any visible effect: nothing read, nothing written. The
decision applies to that batch only.

A batch method that knows which rows fail returns `PartlyFailed`: its result and the error of each failed row. If it
raises, the host passes the whole batch to the form for records, which finds the failing records; so a plugin does not
need to find them, and must not leave a batch half done. After an exception, the plugin receives records until one
batch of them succeeds. Recursive structs (`SchemaReference`) are passed only to the form for records.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from hearth_api.batch.batch import Batch
from hearth_api.converter import Converter, HeaderConverter
from hearth_api.schema import Schema
from hearth_api.task import SinkTask, SourceTask
from hearth_api.transformation import Predicate, Transformation

Declined: TypeAlias = Any
"""The type of `NotImplemented` as a return value of batch methods; type checkers know it only for operators."""


@dataclass(frozen=True)
class PartlyFailed:
    """The result of a batch method of a converter, transformation or predicate, with the errors of failed rows.

    `result` is the method's usual result: in failed rows a converter's is null and a predicate's `False`; a
    transformation's omits them. `errors` maps the row's index in the batch to the error that the form for records
    raises; `LateErrors` creates them on demand.

    If such an error is retriable, or no error is tolerated, the host passes the batch to the form for records.
    """

    result: Any
    errors: Mapping[int, Exception]


E = TypeVar("E", bound=Exception)


def frameless(error: E) -> E:
    """Return the error of a row without traceback frames, including those of its causes.

    The frames are the same for all rows, keep the whole batch alive, and take longer to format than the error takes to
    find.
    """
    cause: BaseException | None = error
    while cause is not None and cause.__traceback__ is not None:
        cause.__traceback__ = None
        cause = cause.__cause__ or cause.__context__
    return error


class BatchSourceTask(SourceTask):
    """A source task that reads whole batches."""

    @abstractmethod
    def poll_batch(self) -> list[Batch] | Declined | None:
        """Return the next batches, None if there are none at present, or `NotImplemented` to be called by `poll`.

        Called in place of `poll` and under the same terms. Each batch names its source partition and has the columns
        `value` and `source_offset`, and any other that a source may set. After `NotImplemented`, the host calls `poll`
        at once, and `poll_batch` again for the next records; a task that returns it reads from the same position in
        both forms.
        """


class BatchSinkTask(SinkTask):
    """A sink task that writes whole batches."""

    columns: frozenset[str] | None = None
    """The columns the task reads, in either form; None for all. Other columns need not be fetched, converted or kept,
    and are missing from the records of `put` as well."""

    takes_interleaved: bool = False
    """Whether `put_batch` accepts batches whose rows interleave; the column `row`, ascending in each batch, then gives
    the order. This saves many small batches if schemas alternate. Other tasks receive such batches split into
    consecutive pieces, or as records if the pieces would be small."""

    @abstractmethod
    def put_batch(self, batches: list[Batch]) -> Declined | None:
        """Write the batches, or buffer them until `flush` or `pre_commit`; return `NotImplemented` to receive records.

        Called in place of `put` and under the same terms, so the list may be empty. Rows keep Kafka's order within a
        partition; one batch may hold rows of several partitions of its topic. After `NotImplemented`, the host passes
        all records of these batches to `put`, so none of them may be written yet.
        """


class BatchTransformation(Transformation):
    """A transformation of whole batches."""

    @abstractmethod
    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Return the changed rows as one or several batches, in order; omitted rows are dropped.

        Called in place of `apply` and under the same terms, except for the order: records polled together are grouped
        by topic, schema and source partition, where `apply` sees them in the order of the poll. The column `row`, if
        present, stays with its row and ascending: it tells the host which records remain. After `NotImplemented`,
        `apply` receives the records of the batch one by one.
        """


class BatchPredicate(Predicate):
    """A predicate over whole batches."""

    @abstractmethod
    def test_batch(self, batch: Batch) -> Any:
        """Return a pyarrow BooleanArray without nulls: for every row whether it satisfies the predicate.

        After `NotImplemented`, `test` receives the records of the batch one by one.
        """


@dataclass(frozen=True)
class ColumnRun:
    """Converted values of one schema, for consecutive rows or for the rows it names.

    `rows` holds the index of each value in the batch, as a numpy or Arrow array of ascending integers; None if the
    values follow those of the previous run.
    """

    schema: Schema | None
    column: Any
    rows: Any = None


@dataclass(frozen=True)
class HeaderColumns:
    """Converted header values of several schemas, as columns that `header_columns` writes."""

    schemas: Any
    values: Any


class BatchConverter(Converter):
    """A converter of whole columns.

    It does not see record headers: a converter whose bytes depend on them has no form for batches.
    """

    header_names: frozenset[str] = frozenset()
    """Headers that may affect reading: if a record of a batch has one of them, `to_connect_data` receives the messages
    of the batch one by one. Read after `configure`."""

    @abstractmethod
    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the bytes to write for a column of values as a pyarrow binary array; null writes a null.

        Called in place of `from_connect_data` and under the same terms. `column` is of `arrow_type(schema)`.
        After `NotImplemented`, `from_connect_data` receives the values one by one.
        """

    def row_writer(self, topic: str, schema: Schema | None) -> Any:
        """Return a `hearth_api.layout.RowTexts` that writes values of a schema one by one; None if there is none.

        Called in place of `from_connect_batch` if records of many schemas alternate, few of each. The converter caches
        it; the host does not. It writes the same bytes. Without schema it writes a null.
        """
        return None

    @abstractmethod
    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun] | Declined:
        """Return the values of a pyarrow binary array, as runs of one schema each.

        Called in place of `to_connect_data` and under the same terms. Every value of `data` is in one run; either all
        runs name their rows, or none does and the values come in order. If schemas alternate, one run of each schema
        with its rows is much cheaper than a run for every change. Every column is of `arrow_type(run.schema)`. After
        `NotImplemented`, `to_connect_data` receives the messages one by one.
        """


class BatchHeaderConverter(HeaderConverter):
    """A header converter of columns: the headers of one name from many records."""

    is_blind_to_names: bool = False
    """Whether the header's name has no effect: headers of several names may then be passed together, under one of the
    names."""
    reads_any_bytes: bool = False
    """Whether `to_connect_header` returns a value for any bytes. If so, headers that no plugin reads are not
    converted."""

    @abstractmethod
    def from_connect_headers(self, topic: str, header_key: str, schema: Schema | None, column: Any) -> Any:
        """Return the bytes to write for a column of values as a pyarrow binary array; null writes no value.

        Called in place of `from_connect_header` and under the same terms, for headers whose schema is a text or a
        whole number. `column` is of `arrow_type(schema)`. After `NotImplemented`, `from_connect_header` receives the
        distinct values, one by one.
        """

    @abstractmethod
    def to_connect_headers(self, topic: str, header_key: str, data: Any) -> ColumnRun | HeaderColumns | Declined:
        """Return the values of a pyarrow binary array; values of one schema are a column of `arrow_type(schema)`.

        Values of several schemas are `HeaderColumns`, as `header_columns` and `parse_headers` return them. Called in
        place of `to_connect_header` and under the same terms. After `NotImplemented`, `to_connect_header` receives the
        distinct values, one by one.
        """
