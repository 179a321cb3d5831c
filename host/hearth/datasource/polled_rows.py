"""Converts polled records of a source's task to batches of a DataFrame, applying errors.tolerance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.datasource.option import Options
from hearth.datasource.spark_batch import SparkBatches
from hearth.datasource.spark_column import variants
from hearth.runtime.polled_record import PolledRecord
from hearth.staging.failure_log import FailureLog
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.polled_task import PolledTask, Transformed
from hearth.staging.tolerance import Tolerance
from hearth_api.batch import Batch, ColumnRun, arrow_type
from hearth_execution.failure import Failure
from hearth_execution.order import rows_of
from hearth_stage.conversion_call import Cells, Serialize

TYPED, JSON, VARIANT, BINARY = "typed", "json", "variant", "binary"
VALUE_CONVERTER = "value.converter"


def read_options(options: Options) -> Options:
    """Return options without value.converter if values are read as JSON or variants: the default one is JSON's."""
    if options.settings.value not in (JSON, VARIANT):
        return options
    return replace(
        options, config={name: text for name, text in options.config.items() if not name.startswith(VALUE_CONVERTER)}
    )


class PolledRows:
    """Converts a task's polled records to Spark's batches; ``form`` is that of the column ``value``."""

    def __init__(self, plan: PluginPlan, task: PolledTask, columns: SparkBatches, form: str) -> None:
        self._plan, self._task, self._columns, self._form = plan, task, columns, form

    def of(self, taken: Transformed) -> Iterator[tuple[int, Any]]:
        """Yield each batch with its number of rows.

        Raises ToleranceExceeded for the first failed record if errors are not tolerated.
        """
        self._judge(taken, taken.failures)
        for batch in taken.batches:
            if self._form == TYPED or "value" not in self._columns.schema.names:
                yield batch.num_rows, self._columns.convert(batch)
            else:
                kept, value = self._written(taken, batch)
                yield kept.num_rows, self._columns.convert(kept, value)

    def _written(self, taken: Transformed, batch: Batch) -> tuple[Batch, Any]:
        """Return the rows whose values the converter could serialize, and those values."""
        rows, column = rows_of(batch), batch.column("value")
        column = pa.nulls(batch.num_rows, arrow_type(batch.value_schema)) if column is None else column
        cells = Cells({"value": ColumnRun(batch.value_schema, column)}, rows)
        done = self._task.place(VALUE_CONVERTER).do(Serialize([VALUE_CONVERTER], batch.topic or "", cells))
        value = done.columns["value"]
        if done.failures:
            self._judge(taken, done.failures)
            kept = pa.array(~np.isin(rows, [each.row for each in done.failures]))
            batch, value = batch.filter(kept), value.filter(kept)
        return batch, _FORMED[self._form](value)

    def _judge(self, taken: Transformed, failures: Sequence[Failure]) -> None:
        if failures:
            tolerance = Tolerance(self._plan.settings, FailureLog(self._plan.name, self._plan.settings))
            tolerance.judge(failures, partial(PolledRecord, taken.origins))


_FORMED: dict[str, Callable[[Any], Any]] = {
    JSON: lambda written: written.cast(pa.string()),
    VARIANT: variants,
    BINARY: lambda written: written,
}
"""Converts serialized values to the column of each form."""
