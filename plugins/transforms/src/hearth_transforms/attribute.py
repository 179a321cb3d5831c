"""Record attributes that InsertField inserts, read from a record or a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from hearth_api import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConnectRecord,
    Schema,
    Timestamp,
)
from hearth_api.batch import Batch, ScalarColumn
from hearth_transforms.requirement import require_sink_record

PURPOSE = "field insertion"


class Row(NamedTuple):
    """The attributes of one row of a batch, or of many rows with equal layout."""

    topic: str | None
    kafka_partition: int | ScalarColumn | None
    kafka_offset: int | ScalarColumn | None
    timestamp: int | ScalarColumn | None


@dataclass(frozen=True)
class Attribute:
    """An attribute: the schema of its field, its value in a record, and its value in a batch.

    The batch value is a column, a string that all rows share, or None. A null omits the field, unless the attribute
    `is_needed`: then the null is written and may be refused.
    """

    schema: Schema
    optional_schema: Schema
    of_record: Callable[[ConnectRecord | Row], Any]
    of_batch: Callable[[Batch], Any]
    is_needed: bool = False
    is_shared: bool = False
    """Whether all records of a topic share the value."""

    def logical(self, value: Any) -> Any:
        """Return the value in the logical type of the schema, if it has one."""
        return Timestamp.to_logical(Timestamp.SCHEMA, value) if self is TIMESTAMP else value


def fixed_text(text: str) -> Attribute:
    """Return an attribute with the same string in every record."""
    return Attribute(STRING_SCHEMA, OPTIONAL_STRING_SCHEMA, lambda record: text, lambda batch: text, is_shared=True)


TOPIC = Attribute(
    STRING_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    lambda record: record.topic,
    lambda batch: batch.topic,
    is_needed=True,
    is_shared=True,
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
    lambda record: (record if isinstance(record, Row) else require_sink_record(record, PURPOSE)).kafka_offset,
    lambda batch: batch.column("offset"),
    is_needed=True,
)
TIMESTAMP = Attribute(
    Timestamp.SCHEMA,
    Timestamp.builder().optional().build(),
    lambda record: record.timestamp,
    lambda batch: batch.column("timestamp"),
)
