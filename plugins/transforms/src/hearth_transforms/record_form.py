"""The way of the records: what transforms a batch row by row where columns will not do."""

from __future__ import annotations

import pyarrow as pa

from hearth_api import (
    Batch,
    BatchTransformation,
    ConnectRecord,
    batch_to_sink_records,
    batch_to_source_records,
    records_to_batches,
)
from hearth_transforms.side import is_sink_batch


def records_of(batch: Batch) -> list[ConnectRecord]:
    """Return the rows of a batch as the records they stand for."""
    return [*batch_to_sink_records(batch)] if is_sink_batch(batch) else [*batch_to_source_records(batch)]


def apply_records(transformation: BatchTransformation, batch: Batch) -> list[Batch]:
    """Return the batches that `transformation.apply` makes of the rows of a batch.

    Topic, schemas, key and value are the new records', every other column is the batch's own.
    """
    batch = batch.stamped()
    applied = [(row, transformation.apply(record)) for row, record in enumerate(records_of(batch))]
    rows = [row for row, record in applied if record is not None]
    result = []
    for part in records_to_batches([record for _, record in applied if record is not None]):
        taken, rows = rows[: part.num_rows], rows[part.num_rows :]
        result.append(_with_sides(batch.take(pa.array(taken, pa.int64())), part))
    return result


def _with_sides(batch: Batch, other: Batch) -> Batch:
    changed = batch.with_columns(key=other.column("key"), value=other.column("value"))
    return changed.replace(
        topic=other.topic,
        key_schema=other.key_schema,
        value_schema=other.value_schema,
        original_topic=other.original_topic,
    )
