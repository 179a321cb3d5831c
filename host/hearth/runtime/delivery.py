"""What a sink loop holds between the consumer and the task: records read and converted, and the task's wishes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.runtime.kafka.consumer import Incoming
from hearth_api import Batch, TopicPartition

Offsets = dict[TopicPartition, int]


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

    def find(self, place: TopicPartition, offset: int) -> Consumed | None:
        """Return the record that was read at a place, if it was read into this delivery."""
        for source in self.sources:
            if source.topic == place.topic:
                found = np.flatnonzero((source.partition == place.partition) & (source.offset == offset))
                if len(found):
                    return Consumed(source, int(found[0]))
        return None


@dataclass
class Wishes:
    """What the task asked of its context since it was last looked at."""

    timeout: float | None = None
    rewind: Offsets = field(default_factory=dict)
    commit: bool = False


@dataclass(frozen=True)
class Consumed:
    """A record as it was consumed, for a report."""

    incoming: Incoming
    row: int

    def text(self) -> str:
        """Describe the record as Kafka Connect's error log does."""
        part, row = self.incoming, self.row
        place = f"topic='{part.topic}', partition={part.partition[row]}, offset={part.offset[row]}"
        kind = {1: "CreateTime", 2: "LogAppendTime"}.get(part.timestamp_type)
        stamp = f", timestamp={part.timestamp[row]}, timestampType={kind}" if kind else ""
        return f"consumed record is {{{place}{stamp}}}"


def bounds(incoming: Incoming) -> tuple[Offsets, Offsets]:
    """Return the first offset of each partition, and the one after its last."""
    starts, ends = {}, {}
    for partition in np.unique(incoming.partition).tolist():
        offsets = incoming.offset[incoming.partition == partition]
        place = TopicPartition(incoming.topic, partition)
        starts[place], ends[place] = int(offsets.min()), int(offsets.max()) + 1
    return starts, ends


def _not_from(batch: Batch, partitions: set[TopicPartition]) -> Any:
    column = batch.column("original_partition")
    numbers = (column if column is not None else batch.column("partition")).to_pylist()
    topic = batch.original_topic or batch.topic or ""
    return pa.array([TopicPartition(topic, number) not in partitions for number in numbers], pa.bool_())
