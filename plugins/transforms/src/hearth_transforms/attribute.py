"""What InsertField can insert: attributes of records, read from one record or from a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hearth_api import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Batch,
    ConnectRecord,
    Schema,
    Timestamp,
    arrow_type,
)
from hearth_transforms.requirement import require_sink_record

PURPOSE = "field insertion"


@dataclass(frozen=True)
class Attribute:
    """One attribute: the schema its field gets, its plain value of a record, its column of a batch or None.

    A null leaves the field out, unless the attribute `is_needed`: then the null is written, and may be refused.
    """

    schema: Schema
    optional_schema: Schema
    of_record: Callable[[ConnectRecord], Any]
    of_batch: Callable[[Batch], Any]
    is_needed: bool = False

    def logical(self, value: Any) -> Any:
        """Return the value as one of the schema, where a plain one will not do."""
        return Timestamp.to_logical(Timestamp.SCHEMA, value) if self is TIMESTAMP else value

    def column(self, batch: Batch) -> Any:
        """Return the column of a batch, None where one that is needed is missing."""
        import pyarrow as pa

        column = self.of_batch(batch)
        is_left_out = column is None and not self.is_needed
        return pa.nulls(batch.num_rows, arrow_type(self.schema)) if is_left_out else column


def fixed_text(text: str) -> Attribute:
    """Return the attribute that is the same text in every record."""
    return Attribute(STRING_SCHEMA, OPTIONAL_STRING_SCHEMA, lambda record: text, lambda batch: _texts(text, batch))


def _texts(text: str | None, batch: Batch) -> Any:
    import pyarrow as pa

    return None if text is None else pa.repeat(pa.scalar(text, pa.string()), batch.num_rows)


TOPIC = Attribute(
    STRING_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    lambda record: record.topic,
    lambda batch: _texts(batch.topic, batch),
    is_needed=True,
)
PARTITION = Attribute(
    INT32_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    lambda record: record.kafka_partition,
    lambda batch: batch.column("partition"),
)
OFFSET = Attribute(
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    lambda record: require_sink_record(record, PURPOSE).kafka_offset,
    lambda batch: batch.column("offset"),
    is_needed=True,
)
TIMESTAMP = Attribute(
    Timestamp.SCHEMA,
    Timestamp.builder().optional().build(),
    lambda record: record.timestamp,
    lambda batch: batch.column("timestamp"),
)
