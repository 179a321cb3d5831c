"""Converts the rows of a DataFrame to the records of a sink.

With a column ``value``, the columns ``topic``, ``key``, ``value``, ``headers`` and ``timestamp`` make up a record, as
in a read; otherwise the whole row is the value, a struct. A record's partition is Spark's, and its offset combines the
number of the batch with the row's number in the partition, so it is the same when the row is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark

from hearth.datasource.connect_column import ConnectColumn
from hearth.datasource.header_form import header_convert
from hearth_api import ConfigError, Schema, TimestampType
from hearth_api.batch import Batch

MOST_ROWS = 1 << 29
"""The maximum number of rows of a partition in one batch; there may be 2^34 batches."""
RECORD = ("topic", "key", "value", "headers", "timestamp")
OF_A_READ = ("partition", "source_partition", "source_offset")
"""Columns of a read that describe the source of a record; a write ignores them."""
SIDES = ("key", "value")


def first_offset(batch_id: int) -> int:
    """Return the offset of the first row of a partition in a batch."""
    return batch_id * MOST_ROWS


@dataclass(frozen=True)
class RowForm:
    """The conversion of rows of one schema to records.

    ``columns`` convert the columns by name. ``raw`` are the sides whose bytes a converter deserializes.
    """

    topic: str
    columns: dict[str, Callable[[Any], Any]]
    schemas: dict[str, Schema | None]
    is_record: bool
    raw: tuple[str, ...] = ()
    timestamp_type: TimestampType = field(default=TimestampType.NO_TIMESTAMP_TYPE)

    @classmethod
    def of(cls, schema: spark.StructType, topic: str, value: str) -> RowForm:
        """Return the conversion for a schema, with the default ``topic`` and the option ``value``.

        Raises ConfigError for a column that does not fit into a record.
        """
        if "value" not in schema.names:
            if value in ("json", "binary"):
                raise ConfigError("hearth.value", value, f"there is no column 'value', only {', '.join(schema.names)}")
            whole = ConnectColumn.of(schema, "", is_nullable=False)
            return cls(topic, {"value": whole.convert}, {"value": whole.schema}, is_record=False)
        others = [name for name in schema.names if name not in (*RECORD, *OF_A_READ)]
        if others:
            raise ConfigError(
                f"columns {', '.join(others)} are not part of a record, which has a column 'value'",
                code="datasource.columns",
                hint="make them part of the value: df.select(struct('*').alias('value')); or drop them",
            )
        return cls._of_record(schema, topic, value)

    @classmethod
    def _of_record(cls, schema: spark.StructType, topic: str, value: str) -> RowForm:
        columns: dict[str, Callable[[Any], Any]] = {}
        schemas: dict[str, Schema | None] = {}
        raw = []
        for own in schema.fields:
            name, kind = own.name, own.dataType
            if name in SIDES:
                is_raw = (value == "json" and isinstance(kind, spark.StringType)) or (
                    value == "binary" and isinstance(kind, spark.BinaryType)
                )
                if value in ("json", "binary") and name == "value" and not is_raw:
                    wanted = "string" if value == "json" else "binary"
                    raise ConfigError(
                        "hearth.value", value, f"the column 'value' is {kind.simpleString()}, expected {wanted}"
                    )
                column = ConnectColumn.of(kind, name, is_nullable=own.nullable)
                columns[name], schemas[name] = (_bytes if is_raw else column.convert), column.schema
                raw += [name] if is_raw else []
            elif name == "topic":
                columns[name] = ConnectColumn.of(_expected(own, spark.StringType), name).convert
            elif name == "timestamp":
                columns[name] = ConnectColumn.of(_expected(own, spark.TimestampType, spark.LongType), name).convert
            elif name == "headers":
                columns[name] = header_convert(kind)
        kind_of_time = TimestampType.CREATE_TIME if "timestamp" in columns else TimestampType.NO_TIMESTAMP_TYPE
        return cls(topic, columns, schemas, is_record=True, raw=tuple(raw), timestamp_type=kind_of_time)

    def batches(self, data: Any, partition: int, offset: int) -> Iterator[Batch]:
        """Yield rows as batches of one topic each, with row numbers that continue across the batches.

        ``offset`` is the offset of the first row of ``data``.
        """
        given = {"value": data.to_struct_array()} if not self.is_record else _named(data)
        own = {name: convert(given[name]) for name, convert in self.columns.items()}
        count = data.num_rows
        topics = own.pop("topic", None)
        own["partition"] = pa.array(np.full(count, partition, np.int32))
        own["offset"] = pa.array(np.arange(offset, offset + count, dtype=np.int64))
        if (keys := own.get("key")) is not None and keys.null_count == count:
            del own["key"]
        table = pa.RecordBatch.from_arrays(list(own.values()), names=list(own))
        first = 0
        for topic, rows in _by_topic(topics, self.topic, count):
            batch = self._batch(topic, table if rows is None else table.take(rows))
            yield batch.with_columns(row=pa.array(np.arange(first, first + len(batch), dtype=np.int32)))
            first += len(batch)

    def _batch(self, topic: str, data: Any) -> Batch:
        schemas = {side: None if side in self.raw else self.schemas.get(side) for side in SIDES}
        return Batch(
            topic, schemas["key"], schemas["value"], data, None, self.timestamp_type, original_topic=topic
        )  # fmt: skip


def _expected(own: spark.StructField, *kinds: type[spark.DataType]) -> spark.DataType:
    if isinstance(own.dataType, kinds):
        return own.dataType
    names = " or ".join(kind.typeName() for kind in kinds)
    raise ConfigError(
        f"the column {own.name!r} is of type {own.dataType.simpleString()}, expected {names}",
        code="datasource.columns",
        hint=f"cast it to {names}, or move it into the value under another name",
    )


def _named(data: Any) -> dict[str, Any]:
    return dict(zip(data.schema.names, data.columns))


def _bytes(column: Any) -> Any:
    return column.cast(pa.binary())


def _by_topic(topics: Any, default: str, count: int) -> Iterator[tuple[str, Any]]:
    """Yield each topic with the indices of its rows, in order; ``None`` if it has all rows."""
    if topics is None or topics.null_count == count:
        if count:
            yield default, None
        return
    filled = topics.fill_null(default)
    names = pc.unique(filled)
    for name in names:
        rows = None if len(names) == 1 else pc.indices_nonzero(pc.equal(filled, name))
        yield name.as_py(), rows
