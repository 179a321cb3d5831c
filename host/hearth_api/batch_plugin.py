"""What plugins derive from, besides their usual class, to be given batches instead of records.

The host asks by `isinstance`. Both forms must give the same result; the form with records is the plain
one. When a batch method raises, the host repeats the work with batches of one row to find the records that
fail, so a plugin need not sort them out, and must not leave half of a batch done.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from hearth_api.batch import Batch
from hearth_api.converter import Converter
from hearth_api.schema import Schema
from hearth_api.task import SinkTask, SourceTask
from hearth_api.transformation import Predicate, Transformation


class BatchSourceTask(SourceTask):
    """A source task that reads whole batches."""

    @abstractmethod
    def poll_batch(self) -> list[Batch] | None:
        """Return the next batches, or None when there are none at present.

        Called in place of `poll` and under the same terms. Each batch names its source partition and has the
        columns `value` and `source_offset`, and any other a source may set.
        """


class BatchSinkTask(SinkTask):
    """A sink task that writes whole batches."""

    columns: frozenset[str] | None = None
    """The columns the task reads; None for all. What it does not read need not be fetched, converted or carried."""

    @abstractmethod
    def put_batch(self, batches: list[Batch]) -> None:
        """Write the batches, or buffer them until `flush` or `pre_commit`.

        Called in place of `put` and under the same terms, so the list may be empty. Rows keep Kafka's
        order within a partition; one batch may hold rows of several partitions of its topic.
        """


class BatchTransformation(Transformation):
    """A transformation of whole batches."""

    @abstractmethod
    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Return the changed rows as one batch or several, in order; rows that are left out are dropped.

        Called in place of `apply` and under the same terms. The column `row`, when there is one, goes with
        its row: it tells the host which records are left.
        """


class BatchPredicate(Predicate):
    """A predicate over whole batches."""

    @abstractmethod
    def test_batch(self, batch: Batch) -> Any:
        """Return a pyarrow BooleanArray without nulls: for every row whether it satisfies the predicate."""


@dataclass(frozen=True)
class ColumnRun:
    """Consecutive converted values that have the same schema."""

    schema: Schema | None
    column: Any


class BatchConverter(Converter):
    """A converter of whole columns."""

    @abstractmethod
    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the bytes to write for a column of values as a pyarrow binary array; null writes a null.

        Called in place of `from_connect_data` and under the same terms, unless the record has headers the
        converter must see. `column` is of `arrow_type(schema)`.
        """

    @abstractmethod
    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun]:
        """Return the values of a pyarrow binary array, in order, split where the schema changes.

        Called in place of `to_connect_data` and under the same terms. The lengths of the runs add up to
        that of `data`; every column is of `arrow_type(run.schema)`.
        """
