"""What a sink loop holds between the consumer and the task: records read and converted, and context requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.fetched import Incoming
from hearth_api import Batch, TimestampType, TopicPartition

Offsets = dict[TopicPartition, int]

TIMESTAMP_TYPES = [TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]
"""By librdkafka's numbers."""

_RAW_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass
class Delivery:
    """Records read and converted: what is put next, and the offsets that are done once it is put."""

    batches: list[Batch] = field(default_factory=list)
    sources: tuple[Incoming, ...] = ()
    starts: Offsets = field(default_factory=dict)
    offsets: Offsets = field(default_factory=dict)

    def without(self, partitions: set[TopicPartition]) -> Delivery:
        """Return what remains when partitions are taken away (by where the records came from)."""
        kept = [batch.filter(_not_from(batch, partitions)) for batch in self.batches]
        starts, offsets = (
            {partition: offset for partition, offset in each.items() if partition not in partitions}
            for each in (self.starts, self.offsets)
        )
        return Delivery([batch for batch in kept if batch.num_rows], self.sources, starts, offsets)

    def record(self, row: int) -> Consumed | None:
        """Return the record that a row number stands for: rows are numbered through all sources."""
        for source in self.sources:
            if row < len(source.offset):
                return Consumed(source, row)
            row -= len(source.offset)
        return None


@dataclass
class ContextRequests:
    """What the task asked of its context since it was last looked at."""

    timeout: float | None = None
    rewind: Offsets = field(default_factory=dict)
    commit: bool = False


@dataclass(frozen=True)
class Consumed:
    """A record as it was consumed, for a report."""

    incoming: Incoming
    row: int

    @classmethod
    def of(cls, batch: Batch) -> Consumed:
        """Return the record in a batch of one row that a stage sent back (see ``as_consumed``)."""
        data = {name: batch.column(name) for name in batch.data.schema.names}
        times, headers = data.get("timestamp"), data.get("headers")
        own: list[tuple[str, bytes | None]] = []
        if headers is not None:
            own = [(each["key"], each["value"]) for each in headers[0].as_py() or ()]
        incoming = Incoming(
            topic=batch.topic or "",
            partition=data["partition"].to_numpy(),
            offset=data["offset"].to_numpy(),
            key=data["key"],
            value=data["value"],
            timestamp=None if times is None else times.to_numpy(),
            timestamp_type=TIMESTAMP_TYPES.index(batch.timestamp_type),
            headers={0: own} if own else {},
        )
        return cls(incoming, 0)

    @property
    def partition(self) -> TopicPartition:
        """Return the partition the record was read from."""
        return TopicPartition(self.incoming.topic, int(self.incoming.partition[self.row]))

    @property
    def offset(self) -> int:
        """Return the record's offset."""
        return int(self.incoming.offset[self.row])

    def text(self) -> str:
        """Describe the record as Kafka Connect's error log does."""
        part, row = self.incoming, self.row
        origin = f"topic='{part.topic}', partition={part.partition[row]}, offset={part.offset[row]}"
        kind = TIMESTAMP_TYPES[part.timestamp_type].value
        stamp = f", timestamp={part.timestamp[row]}, timestampType={kind}" if part.timestamp_type else ""
        return f"consumed record is {{{origin}{stamp}}}"


def as_consumed(incoming: Incoming) -> Batch:
    """Return records as they were consumed, to go along with what was made of them: bytes, times and headers.

    A task may report a record long after its put; what becomes a dead letter then is what the task's stage kept.
    """
    columns = {
        "partition": pa.array(incoming.partition),
        "offset": pa.array(incoming.offset),
        "key": incoming.key,
        "value": incoming.value,
    }
    if incoming.timestamp is not None:
        columns["timestamp"] = pa.array(incoming.timestamp)
    if incoming.headers:
        rows = (incoming.headers.get(row) for row in range(len(incoming.offset)))
        entries = [[{"key": key, "value": value} for key, value in own or ()] for own in rows]
        columns["headers"] = pa.array(entries, _RAW_HEADERS)
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch(incoming.topic, None, None, data, None, TIMESTAMP_TYPES[incoming.timestamp_type])


def bounds(incoming: Incoming) -> tuple[Offsets, Offsets]:
    """Return the first offset of each partition, and the one after its last."""
    starts, ends = {}, {}
    for number in np.unique(incoming.partition).tolist():
        offsets = incoming.offset[incoming.partition == number]
        partition = TopicPartition(incoming.topic, number)
        starts[partition], ends[partition] = int(offsets.min()), int(offsets.max()) + 1
    return starts, ends


def _not_from(batch: Batch, partitions: set[TopicPartition]) -> Any:
    column = batch.column("original_partition")
    numbers = (column if column is not None else batch.column("partition")).to_pylist()
    topic = batch.original_topic or batch.topic or ""
    return pa.array([TopicPartition(topic, number) not in partitions for number in numbers], pa.bool_())
