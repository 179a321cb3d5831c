"""The plan of a write, which executors carry out; planning stays on the driver, so executors import little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pyspark import TaskContext
from pyspark.sql import types as spark
from pyspark.sql.datasource import WriterCommitMessage

from hearth.datasource.data_source_error import instructive
from hearth.datasource.dead_letter_file import DeadLetterFile
from hearth.datasource.kept_task import KeptTasks, is_worker_kept
from hearth.datasource.row_form import RowForm
from hearth.datasource.written_task import RetryBudget, WrittenTask
from hearth.spark.environment_archive import here
from hearth.staging.plugin_plan import PluginPlan

_BATCH_ID, _QUERY = "streaming.sql.batchId", "sql.streaming.queryId"
"""Local properties that Spark sets for the tasks of a query."""

_kept: KeptTasks[WrittenTask] = KeptTasks()


@dataclass
class WriteResult(WriterCommitMessage):  # type: ignore[misc]
    """The result of a partition: the number of its rows and of its dead letters."""

    rows: int
    dead_letters: int


@dataclass(frozen=True)
class WritePlan:
    """The plan of a write: each partition is written by one of the tasks of ``plans``.

    ``fingerprints`` identify the plans. ``batch_id`` is ``None`` for a query, whose micro-batches have numbers
    from Spark.
    """

    id: str
    plans: tuple[PluginPlan, ...]
    fingerprints: tuple[str, ...]
    schema: spark.StructType
    topic: str
    value: str
    batch_id: int | None
    dead_letters: str | None
    retry_budget: RetryBudget
    keep_seconds: float

    def write(self, rows: Iterator[Any]) -> WriteResult:
        """Write the partition of the present Spark task; all of it is durable when this returns."""
        context = TaskContext.get()
        assert context is not None, "Spark writes partitions in tasks"
        batch_id, partition = self.batch_id, context.partitionId()
        if batch_id is None:
            batch_id = int(context.getLocalProperty(_BATCH_ID) or 0)
        letters = None if self.dead_letters is None else DeadLetterFile(self.dead_letters, batch_id, partition)
        with instructive():
            try:
                count = self._write(rows, context.getLocalProperty(_QUERY) or self.id, partition, batch_id, letters)
            except BaseException:
                if letters is not None:
                    letters.discard()
                raise
        return WriteResult(count, 0 if letters is None else letters.count)

    def _write(
        self, rows: Iterator[Any], query: str, partition: int, batch_id: int, letters: DeadLetterFile | None
    ) -> int:
        """Write rows with a kept or new task; without rows no task starts."""
        first = next((data for data in rows if data.num_rows), None)
        if first is None:
            if letters is not None:
                letters.commit()
            return 0
        number = partition % len(self.plans)
        form = RowForm.of(self.schema, self.topic, self.value)
        seconds = self.keep_seconds if is_worker_kept() else 0.0
        with _kept.using((query, number, self.fingerprints[number]), lambda: self._begun(number), seconds) as task:
            return task.write(chain([first], rows), form, partition, batch_id, letters)

    def _begun(self, number: int) -> WrittenTask:
        plan = here(self.plans[number])
        return WrittenTask(plan, self.retry_budget, has_letters=self.dead_letters is not None)
