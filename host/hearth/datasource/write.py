"""Writers of DataFrames to a sink: of batches, and of a query's micro-batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
from pyspark.sql.types import StructType

from hearth.datasource.data_source_error import instructive
from hearth.datasource.spark_socket import SentFirst
from hearth.datasource.write_plan import WritePlan, WriteResult


class HearthWriter(SentFirst, DataSourceArrowWriter):  # type: ignore[misc]
    """Writes a DataFrame once."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[Any]) -> WriteResult:
        """Write a partition, on an executor."""
        return self._plan.write(iterator)


class HearthStreamWriter(SentFirst, DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Writes the micro-batches of a query."""

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan

    def write(self, iterator: Iterator[Any]) -> WriteResult:
        """Write a partition of a micro-batch, on an executor."""
        return self._plan.write(iterator)


def batch_writer(given: Mapping[str, str], schema: StructType, overwrite: bool) -> HearthWriter:
    """Return the writer of a DataFrame with these columns and options."""
    from hearth.datasource.write_planning import plan_write

    with instructive():
        return HearthWriter(plan_write(given, schema, replaces=overwrite, is_batch=True))


def stream_writer(given: Mapping[str, str], schema: StructType, overwrite: bool) -> HearthStreamWriter:
    """Return the writer of a query's micro-batches with these columns and options."""
    from hearth.datasource.write_planning import plan_write

    with instructive():
        return HearthStreamWriter(plan_write(given, schema, replaces=overwrite, is_batch=False))
