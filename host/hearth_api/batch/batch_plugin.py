"""What plugins derive from, besides their usual class, to be given batches instead of records.

The host asks by `isinstance`. The form for records is always there and is the truth; the form for batches is an
optimisation that gives the same result. Where columns will not do, for data without schema say, a batch method
returns `NotImplemented`, and the host uses the form for records for that batch, with all that it changes: values,
headers, timestamps, partitions. It says so before it has done anything that can be seen: nothing read, nothing
written. What it says of one batch binds it for no other.

A batch method that knows which rows fail returns `PartlyFailed`: its result, and the error of each failed row. When
it raises, the host gives the whole batch to the form for records, which finds the records that fail; so a plugin need
not sort them out, and must not leave half of a batch done. A plugin that raised is given records until a batch of them
goes well. What has a struct inside of itself (`SchemaReference`) is given to the form for records only.
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
"""The type of `NotImplemented` where a batch method returns it; type checkers know it as that of operators only."""


@dataclass(frozen=True)
class PartlyFailed:
    """Result of a batch method of a converter, transformation or predicate, and the errors of the rows that failed.

    `result` is what the method returns otherwise: a converter's has a null and a predicate's `False` in each failed
    row, a transformation's lacks it. `errors` holds what the form for records raises, by the row's place in the batch;
    as `LateErrors` it may make them later.
    The host gives the batch to the form for records if such an error is retriable or nothing is tolerated.
    """

    result: Any
    errors: Mapping[int, Exception]


E = TypeVar("E", bound=Exception)


def frameless(error: E) -> E:
    """Return the error of a row without the frames that it and its causes passed.

    They are the same for all rows and hold the whole batch, and to describe them takes longer than to find the error.
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
        """Return the next batches, None when there are none at present, `NotImplemented` to be asked by `poll`.

        Called in place of `poll` and under the same terms. Each batch names its source partition and has the
        columns `value` and `source_offset`, and any other a source may set. After `NotImplemented`, `poll` is
        called at once and what comes next is asked of `poll_batch` again; a task that answers so reads from
        the same place in both forms.
        """


class BatchSinkTask(SinkTask):
    """A sink task that writes whole batches."""

    columns: frozenset[str] | None = None
    """The columns the task reads, in either form; None for all. What it does not read need not be fetched, converted
    or carried, and is missing in the records of `put` as well."""

    takes_interleaved: bool = False
    """Whether `put_batch` takes batches whose rows come between those of others: the column `row`, which goes up in
    each of them, then tells the order. Where schemas alternate this saves many small batches. Other tasks are given
    such batches cut into pieces that follow each other, or as records where the pieces would be small."""

    @abstractmethod
    def put_batch(self, batches: list[Batch]) -> Declined | None:
        """Write the batches, or buffer them until `flush` or `pre_commit`; `NotImplemented` to be given records.

        Called in place of `put` and under the same terms, so the list may be empty. Rows keep Kafka's
        order within a partition; one batch may hold rows of several partitions of its topic. After
        `NotImplemented`, `put` is given all the records of these batches, so none of them may be written yet.
        """


class BatchTransformation(Transformation):
    """A transformation of whole batches."""

    @abstractmethod
    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Return the changed rows as one batch or several, in order; rows that are left out are dropped.

        Called in place of `apply` and under the same terms, but for the order: what a source polled together comes
        one topic, schema and source partition after the other, where `apply` would see it in the order of the poll.
        The column `row`, when there is one, goes with its row and goes up: it tells the host which records are left.
        After `NotImplemented`, `apply` is given the records of the batch one by one.
        """


class BatchPredicate(Predicate):
    """A predicate over whole batches."""

    @abstractmethod
    def test_batch(self, batch: Batch) -> Any:
        """Return a pyarrow BooleanArray without nulls: for every row whether it satisfies the predicate.

        After `NotImplemented`, `test` is given the records of the batch one by one.
        """


@dataclass(frozen=True)
class ColumnRun:
    """Converted values that have the same schema: those of consecutive rows, or those of the rows it names.

    `rows` holds the place of each value in the batch, as a numpy or Arrow array of integers that go up; None where the
    values follow those of the run before. Of a column without schema `grouped` may tell what is known of it
    (`hearth_api.layout.Grouped`).
    """

    schema: Schema | None
    column: Any
    grouped: Any = None
    rows: Any = None


@dataclass(frozen=True)
class HeaderColumns:
    """Converted values of headers, each with a schema of its own, as `header_columns` writes both."""

    schemas: Any
    values: Any


class BatchConverter(Converter):
    """A converter of whole columns.

    It sees nothing of the headers of records: one whose bytes depend on them has no form for batches.
    """

    header_names: frozenset[str] = frozenset()
    """The headers that may change what is read: where a record of a batch has one of them, `to_connect_data` is given
    the messages of the batch one by one. Asked after `configure`."""

    @abstractmethod
    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the bytes to write for a column of values as a pyarrow binary array; null writes a null.

        Called in place of `from_connect_data` and under the same terms. `column` is of `arrow_type(schema)`.
        After `NotImplemented`, `from_connect_data` is given the values one by one.
        """

    def row_writer(self, topic: str, schema: Schema | None) -> Any:
        """Return what writes values of a schema one by one, a `hearth_api.layout.RowTexts`; None where nothing does.

        Asked for in place of `from_connect_batch` where records of many schemas come in turn, few of each. It is kept
        by nobody but the converter, and writes the same. Without schema there is a null to write.
        """
        return None

    @abstractmethod
    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun] | Declined:
        """Return the values of a pyarrow binary array, as runs of one schema each.

        Called in place of `to_connect_data` and under the same terms. Every value of `data` is in one run; either all
        runs name their rows, or none does and the values come in order. Where schemas alternate, one run of each
        schema with its rows is much cheaper than a run for every change. Every column is of `arrow_type(run.schema)`.
        After `NotImplemented`, `to_connect_data` is given the messages one by one.
        """


class BatchHeaderConverter(HeaderConverter):
    """A converter of the headers of one name that many records have, as columns."""

    is_blind_to_names: bool = False
    """Whether the name of a header makes no difference: headers of several names may then be given together, as those
    of one of the names."""
    reads_any_bytes: bool = False
    """Whether `to_connect_header` returns a value for any bytes. Headers that no plugin looks at are not read then."""

    @abstractmethod
    def from_connect_headers(self, topic: str, header_key: str, schema: Schema | None, column: Any) -> Any:
        """Return the bytes to write for a column of values as a pyarrow binary array; null writes no value.

        Called in place of `from_connect_header` and under the same terms, for headers whose schema is a text or a
        whole number. `column` is of `arrow_type(schema)`. After `NotImplemented`, `from_connect_header` is given
        the values that differ, one by one.
        """

    @abstractmethod
    def to_connect_headers(self, topic: str, header_key: str, data: Any) -> ColumnRun | HeaderColumns | Declined:
        """Return the values of a pyarrow binary array: those of one schema as a column of `arrow_type(schema)`.

        Of several schemas they are as `header_columns` writes them, and as `parse_headers` reads texts.

        Called in place of `to_connect_header` and under the same terms. After `NotImplemented`, `to_connect_header` is
        given those that differ, one by one.
        """
