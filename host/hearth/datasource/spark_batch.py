"""Converts batches of records to batches of a DataFrame, column by column."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from hearth.datasource.not_null import NotNull
from hearth.datasource.spark_column import converter, instants
from hearth_api import ConfigError, TimestampType
from hearth_api.batch import Batch
from hearth_api.java import offset_to_json

Write = Callable[[Batch], Any]
"""Makes a column from a batch, or None if all its values are null."""


class SparkBatches:
    """Converts batches for a DataFrame of a schema, which may have any of the columns of a read."""

    def __init__(self, schema: StructType) -> None:
        self.schema = to_arrow_schema(schema, timezone="UTC")
        """The exact schema that Spark expects of the first batch."""
        makers: dict[str, Write] = {
            "topic": lambda batch: _repeated(batch.topic, batch.num_rows),
            "key": lambda batch: self._typed(batch, "key"),
            "value": lambda batch: self._typed(batch, "value"),
            "headers": self._headers,
            "timestamp": self._timestamps,
            "partition": lambda batch: batch.column("partition"),
            "source_partition": lambda batch: _repeated(_place(batch), batch.num_rows),
            "source_offset": lambda batch: batch.column("source_offset"),
        }
        self._makers = [(field.name, makers[field.name], field.type) for field in self.schema]
        self._not_null = NotNull(self.schema)

    def convert(self, batch: Batch, value: Any = None) -> Any:
        """Return a batch for Spark; raises ColumnMismatch for an incompatible type, NullFound for a forbidden null.

        ``value`` replaces the column of that name, if it is not typed by the schema of the records.
        """
        if value is not None and value.type != (wanted := self.schema.field("value").type):
            raise ConfigError(
                f"the column 'value' is {wanted} in the DataFrame, but {value.type} with the option hearth.value"
            )
        made = (
            (value if value is not None and name == "value" else make(batch), type_)
            for name, make, type_ in self._makers
        )
        columns = [pa.nulls(batch.num_rows, type_) if column is None else column for column, type_ in made]
        self._not_null.check(columns)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _typed(self, batch: Batch, name: str) -> Any:
        column = batch.column(name)
        if column is None or (name == "key" and column.null_count == len(column)):
            return None
        schema = batch.key_schema if name == "key" else batch.value_schema
        return converter(schema, self.schema.field(name).type, name)(column)

    def _headers(self, batch: Batch) -> Any:
        column = batch.column("headers")
        if column is None:
            return None
        target = self.schema.field("headers").type
        entries = column.values
        parts = [entries.field(field.name) for field in target.value_type]
        inside = pa.StructArray.from_arrays(parts, fields=list(target.value_type))
        return pa.Array.from_buffers(
            target, len(column), column.buffers()[:2], column.null_count, column.offset, [inside]
        )

    def _timestamps(self, batch: Batch) -> Any:
        target = self.schema.field("timestamp").type
        if (column := batch.column("timestamp")) is not None:
            return instants(column, target)
        if batch.timestamp_type is not TimestampType.CREATE_TIME:
            return None
        now = time.time_ns() // 1_000_000 * 1_000  # create time is now, in milliseconds as in records
        return pa.repeat(pa.scalar(now, target), batch.num_rows)


def _place(batch: Batch) -> str | None:
    return None if batch.source_partition is None else offset_to_json(batch.source_partition)


def _repeated(text: str | None, count: int) -> Any:
    """Return a column of one repeated text, usually a slice of a cached one."""
    return None if text is None else _column_of(text, 1 << max(count - 1, 0).bit_length()).slice(0, count)


@lru_cache(maxsize=16)
def _column_of(text: str, count: int) -> Any:
    return pa.repeat(pa.scalar(text, pa.string()), count)
