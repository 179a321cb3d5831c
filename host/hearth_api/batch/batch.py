"""Batches: many records of one topic and one schema as Arrow columns.

Arrow is loaded with the first batch, so plugins that work on records do not need pyarrow.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.header_list import headers_to_column
from hearth_api.batch.offset_column import column_to_offsets, offsets_to_column
from hearth_api.batch.row_column import rows_to_column
from hearth_api.batch.table_column import chosen_columns, moments, struct_of_table, table_of
from hearth_api.batch.wire import strict_json
from hearth_api.errors import DataError
from hearth_api.header import Headers
from hearth_api.java.offset_json import offset_to_json
from hearth_api.java.schema_json import schema_from_text, schema_to_text
from hearth_api.record import TimestampType
from hearth_api.schema import Schema
from hearth_api.schema_reference import needs_records

_METADATA_KEY = b"hearth"


@dataclass(frozen=True, eq=False)
class Batch:
    """One topic's records of one key schema and one value schema, in order.

    `data` holds the columns; only `value` is required, and a missing column is null in every row:

    - `key`, `value`: of `arrow_type(schema)`
    - `partition` int32: the Kafka partition to write to (source) or read from (sink)
    - `timestamp` int64: milliseconds since 1970
    - `headers`: list of struct of `key`, `schema` (JSON text, null = none), `value` (the text itself if the schema's
      type is STRING, else the JSON text of the physical value)
    - `source_offset` utf8: JSON text of the offset after the record (source)
    - `offset` int64, `original_partition` int32, `original_offset` int64 (sink)
    - `row` int32: belongs to the runtime; code that changes a batch keeps it

    The runtime also owns `consumed`, which a sink's batch may have: the messages that its records were read from, by
    their `row`.

    A source batch with timestamp type CREATE_TIME and no `timestamp` column has records that were just created: they
    get the time at which they are sent. A batch transformation or predicate that reads the timestamp calls `stamped`
    first, and the record keeps that time.

    Batches are immutable; every change returns a new one that shares the columns.
    """

    topic: str | None
    key_schema: Schema | None
    value_schema: Schema | None
    data: Any
    source_partition: Mapping[str, Any] | None = None
    timestamp_type: TimestampType = TimestampType.NO_TIMESTAMP_TYPE
    original_topic: str | None = None
    consumed: Any = None

    @property
    def num_rows(self) -> int:
        """Return the number of records in the batch."""
        rows: int = self.data.num_rows
        return rows

    def __len__(self) -> int:
        """Return the number of records in the batch."""
        return self.num_rows

    @property
    def needs_records(self) -> bool:
        """Return whether plugins must receive the batch as records, for its schemas (`hearth_api.needs_records`)."""
        return needs_records(self.key_schema) or needs_records(self.value_schema)

    def column(self, name: str) -> Any:
        """Return a column as a pyarrow Array, or None if it is missing, which means all null."""
        index = self.data.schema.get_field_index(name)
        return None if index < 0 else self.data.column(index)

    @cached_property
    def rows(self) -> Any:
        """Return the column `row` as a numpy array, None if it is missing."""
        column = self.column("row")
        return None if column is None else column.to_numpy(zero_copy_only=False)

    def originals(self) -> tuple[str, Any, Any]:
        """Return topic, partitions and offsets of a sink's records as they were read from Kafka.

        Partitions and offsets are numpy arrays. They differ from the columns `partition` and `offset` where a
        transformation changed these, as the originals of `SinkRecord` do (KIP-793).
        """
        return str(self.original_topic or self.topic), self._original("partition"), self._original("offset")

    def _original(self, name: str) -> Any:
        found = self.column(f"original_{name}")
        column = self.column(name) if found is None else found
        return column.to_numpy(zero_copy_only=False)

    def with_columns(self, **columns: Any) -> Batch:
        """Return a batch with columns set by name; None removes a column."""
        present = dict(zip(self.data.schema.names, self.data.columns, strict=False))
        present.update(columns)
        kept = {name: column for name, column in present.items() if column is not None}
        return replace(self, data=pa.RecordBatch.from_arrays(list(kept.values()), names=list(kept)))

    def select(self, names: Collection[str]) -> Batch:
        """Return the batch with only the named columns."""
        return replace(self, data=self.data.select([name for name in self.data.schema.names if name in names]))

    def stamped(self) -> Batch:
        """Return the batch with the current time as `timestamp`, if its records were just created."""
        if self.timestamp_type is not TimestampType.CREATE_TIME or self.column("timestamp") is not None:
            return self
        now = pa.scalar(time.time_ns() // 1_000_000, pa.int64())
        return self.with_columns(timestamp=pa.repeat(now, self.num_rows))

    def replace(self, **changes: Any) -> Batch:
        """Return a batch with some attributes changed."""
        return replace(self, **changes)

    def filter(self, mask: Any) -> Batch:
        """Return the rows where the boolean array is true."""
        return replace(self, data=self.data.filter(mask))

    def slice(self, offset: int, length: int | None = None) -> Batch:
        """Return consecutive rows, without copying."""
        return replace(self, data=self.data.slice(offset, length))

    def take(self, indices: Any) -> Batch:
        """Return the rows with the given indexes, in that order."""
        return replace(self, data=self.data.take(indices))

    @classmethod
    def of_rows(
        cls,
        topic: str,
        schema: Schema | None,
        rows: Iterable[Any],
        *,
        keys: Iterable[Any] | None = None,
        key_schema: Schema | None = None,
        headers: Sequence[Headers | None] | None = None,
        source_partition: Mapping[str, Any] | None = None,
        offsets: Sequence[Mapping[str, Any] | None] | None = None,
        timestamps: Sequence[int | None] | None = None,
    ) -> Batch:
        """Return a source batch of rows, with keys, headers, offsets and timestamps in milliseconds for each.

        Rows and keys are values of their schema; a row of a struct schema is a tuple of all field values, a mapping or
        a dataclass instance, with member values as accepted by `Struct.of`. None is null. A row that does not fit
        raises a DataError.
        """
        columns = {"value": rows_to_column(schema, rows)}
        if keys is not None:
            columns["key"] = rows_to_column(key_schema, keys)
        if timestamps is not None:
            columns["timestamp"] = pa.array(timestamps, pa.int64())
        columns |= _headers_and_offsets(headers, offsets)
        return cls._of_columns(topic, key_schema, schema, columns, source_partition)

    @classmethod
    def of_arrow(
        cls,
        topic: str,
        table: Any,
        *,
        name: str | None = None,
        key: str | Sequence[str] | None = None,
        timestamp: str | None = None,
        headers: Sequence[Headers | None] | None = None,
        source_partition: Mapping[str, Any] | None = None,
        offsets: str | Sequence[Mapping[str, Any] | None] | None = None,
    ) -> Batch:
        """Return a source batch of a table: a pyarrow Table or RecordBatch, or a polars or pandas DataFrame.

        Any object with Arrow's PyCapsule interface is accepted. Each row is a struct; its schema has the given name
        and follows from the table's, nullable columns being optional. `key` names the key column, or several for a
        struct key; `timestamp` names the column of record times; `offsets` names a column whose values become the
        offsets, `{"id": 7}`, with dates and times as numbers, or is a sequence of offsets. These columns stay in the
        value. A type that Connect lacks and a value that does not fit raise a DataError. `to_table` is the inverse.
        """
        schema, value = struct_of_table(table, name)
        columns, key_schema = {"value": value}, None
        if key is not None:
            key_schema, columns["key"] = chosen_columns(schema, value, key)
        if timestamp is not None:
            columns["timestamp"] = moments(schema, value, timestamp)
        if isinstance(offsets, str):
            _, column = chosen_columns(schema, value, offsets)
            columns["source_offset"] = column_to_offsets(offsets, column)
            offsets = None
        columns |= _headers_and_offsets(headers, offsets)
        return cls._of_columns(topic, key_schema, schema, columns, source_partition)

    @classmethod
    def _of_columns(
        cls,
        topic: str,
        key_schema: Schema | None,
        value_schema: Schema | None,
        columns: Mapping[str, Any],
        source_partition: Mapping[str, Any] | None,
    ) -> Batch:
        counts = {name: len(column) for name, column in columns.items()}
        if len(set(counts.values())) > 1:
            raise DataError(f"columns of a batch are equally long, not {counts}")
        data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return cls(topic, key_schema, value_schema, data, source_partition)

    def to_table(self) -> Any:
        """Return the values as a pyarrow Table: one column per field of a struct schema, else a single column `value`.

        Decimals, dates, times and timestamps get Arrow's types; a null in a required field becomes its default, and a
        null value becomes nulls. polars and pandas accept it: `polars.from_arrow(batch.to_table())`. To serialize the
        whole batch, use `to_arrow`.
        """
        return table_of(self.value_schema, self.column("value"))

    def to_arrow(self) -> Any:
        """Return a RecordBatch with the attributes in its metadata, for Arrow IPC."""
        return self.data.replace_schema_metadata({_METADATA_KEY: self._metadata()})

    @classmethod
    def from_arrow(cls, data: Any) -> Batch:
        """Return the batch of a RecordBatch made by `to_arrow`."""
        return cls._of(data, _attributes(data.schema.metadata[_METADATA_KEY]))

    @classmethod
    def _of(cls, data: Any, attributes: _Attributes) -> Batch:
        topic, key_schema, value_schema, source_partition, timestamp_type, original_topic = attributes
        return cls(topic, key_schema, value_schema, data, source_partition, timestamp_type, original_topic)

    def _metadata(self) -> str:
        partition = self.source_partition
        attributes = {
            "topic": self.topic,
            "key_schema": None if self.key_schema is None else schema_to_text(self.key_schema),
            "value_schema": None if self.value_schema is None else schema_to_text(self.value_schema),
            "source_partition": None if partition is None else offset_to_json(partition),
            "timestamp_type": self.timestamp_type.value,
            "original_topic": self.original_topic,
        }
        return json.dumps(attributes)


def _headers_and_offsets(headers: Any, offsets: Any) -> dict[str, Any]:
    columns = {}
    if headers is not None:
        columns["headers"] = headers_to_column(headers)
    if offsets is not None:
        columns["source_offset"] = offsets_to_column(offsets)
    return columns


_Attributes = tuple[
    "str | None", "Schema | None", "Schema | None", "Mapping[str, Any] | None", TimestampType, "str | None"
]


@lru_cache(maxsize=1000)
def _attributes(metadata: bytes) -> _Attributes:
    # Consecutive batches often have the same source partition, so most lookups hit the cache.
    form = strict_json(metadata.decode())
    return (
        form["topic"],
        None if form["key_schema"] is None else schema_from_text(form["key_schema"]),
        None if form["value_schema"] is None else schema_from_text(form["value_schema"]),
        None if form["source_partition"] is None else strict_json(form["source_partition"]),
        TimestampType(form["timestamp_type"]),
        form["original_topic"],
    )
