"""Builds the records of a sink from the rows of a batch."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import Any

from hearth_api.batch.batch import Batch
from hearth_api.batch.column import arrow_type, column_to_values
from hearth_api.batch.header_rows import column_to_headers
from hearth_api.record import SinkRecord, TimestampType
from hearth_api.schema import INT32_SCHEMA, INT64_SCHEMA, Schema, Type
from hearth_api.validation import is_logical

try:
    from hearth_api.batch.sink_row_loop import RowColumn, build_records
except ImportError:  # not compiled, see hatch_build
    build_records = None  # type: ignore[assignment]

_LETTER = {
    Type.INT8: "b", Type.INT16: "h", Type.INT32: "i", Type.INT64: "q", Type.FLOAT64: "d", Type.STRING: "u",
    Type.BYTES: "y",
}  # fmt: skip
"""The types whose values the loop reads from memory."""
CommonParts = tuple[str, TimestampType, str, "Schema | None", "Schema | None"]
"""What the records of a batch share: topic, timestamp type, original topic, key schema and value schema."""


def batch_to_sink_records(batch: Batch) -> list[SinkRecord]:
    """Return the rows of a batch as sink records."""
    return BUILD(batch)


def build_by_loop(batch: Batch) -> list[SinkRecord]:
    """Build records in the compiled loop, which reads columns of plain values in place."""
    headers, consumed = batch.column("headers"), batch.consumed
    columns = (
        _column(batch, "partition", INT32_SCHEMA),
        _column(batch, "key", batch.key_schema),
        _column(batch, "value", batch.value_schema),
        _column(batch, "offset", INT64_SCHEMA),
        _column(batch, "timestamp", INT64_SCHEMA),
        RowColumn("-") if headers is None else RowColumn("l", values=column_to_headers(headers)),
        _column(batch, "original_partition", INT32_SCHEMA),
        _column(batch, "original_offset", INT64_SCHEMA),
        RowColumn("-") if consumed is None else _column(batch, "row", INT32_SCHEMA),
    )
    return build_records(_common(batch), consumed, batch.num_rows, *columns)


def build_one_by_one(batch: Batch) -> list[SinkRecord]:
    """Build records without compiled code."""
    topic, kind, original_topic, key_schema, value_schema = _common(batch)
    headers, consumed = batch.column("headers"), batch.consumed
    rows = zip(
        range(batch.num_rows),
        _values(batch, "partition", INT32_SCHEMA),
        _values(batch, "key", key_schema),
        _values(batch, "value", value_schema),
        _values(batch, "offset", INT64_SCHEMA),
        _values(batch, "timestamp", INT64_SCHEMA),
        repeat(None) if headers is None else column_to_headers(headers),
        _values(batch, "original_partition", INT32_SCHEMA),
        _values(batch, "original_offset", INT64_SCHEMA),
    )
    records = [
        SinkRecord(
            topic, partition, key_schema, key, value_schema, value, offset, timestamp, kind, own, original_topic,
            original_partition, original_offset,
        )
        for _, partition, key, value, offset, timestamp, own, original_partition, original_offset in rows
    ]  # fmt: skip
    if consumed is not None:
        for record, row in zip(records, batch.column("row").to_pylist()):
            record.consumed = consumed, row
    return records


BUILD = build_one_by_one if build_records is None else build_by_loop


def _common(batch: Batch) -> CommonParts:
    topic = batch.topic or ""
    original = topic if batch.original_topic is None else batch.original_topic
    return topic, batch.timestamp_type, original, batch.key_schema, batch.value_schema


def _column(batch: Batch, name: str, schema: Schema | None) -> RowColumn:
    column = batch.column(name)
    if column is None or column.null_count == len(column):
        return RowColumn("-")
    if schema is not None and (letter := _letter(schema)) and column.type == arrow_type(schema):
        validity, *ends, data = column.buffers()
        offsets = _address(ends[0]) if ends else 0
        return RowColumn(letter, _address(data), offsets, _address(validity), column.offset)
    return RowColumn("l", values=column_to_values(schema, column))


@lru_cache(maxsize=1000)
def _letter(schema: Schema) -> str | None:
    return None if is_logical(schema) else _LETTER.get(schema.type)


def _address(buffer: Any) -> int:
    return 0 if buffer is None else int(buffer.address)


def _values(batch: Batch, name: str, schema: Schema | None) -> Any:
    column = batch.column(name)
    return repeat(None) if column is None else column_to_values(schema, column)
