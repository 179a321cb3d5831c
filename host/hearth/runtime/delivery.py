"""What a sink loop holds between the consumer and the task: records read and converted, and puts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.fetched import Incoming
from hearth.runtime.consumed_record import Consumed, as_consumed
from hearth.runtime.pipeline import Pipeline
from hearth_api import ConnectError, PluginError, TopicPartition
from hearth_api.batch import Batch
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.order import in_order, rows_of
from hearth_execution.transformation import Outcome
from hearth_stage.task_call import Put, PutDone

Offsets = dict[TopicPartition, int]

MOST_SHOWN = 10
"""How many partitions are named in an error."""
MOST_PUTS = 10
"""How many puts are with a stage at most; as much is read and converted at once."""
AHEAD_BYTES = 1 << 20
"""With so many bytes in the stage one put that waits is enough: more of large ones would fill its memory."""


@dataclass
class Delivery:
    """Records read and converted: what is put next, and the offsets that are done once it is put.

    ``failures`` are those that could not be converted; they are judged before the others are put, once.
    """

    batches: list[Batch] = field(default_factory=list)
    sources: tuple[Incoming, ...] = ()
    starts: Offsets = field(default_factory=dict)
    offsets: Offsets = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    """Where records came from that could be converted, also of those that transformations dropped."""
    failures: list[Failure] = field(default_factory=list)
    record_size: float = 0.0
    """Bytes of a record, on average of those that were converted with these."""

    @property
    def count(self) -> int:
        """Return how many records there are to be put."""
        return sum(batch.num_rows for batch in self.batches)

    @property
    def size(self) -> float:
        """Return how many bytes they have, more or less: to count them costs more than to send them."""
        return self.count * self.record_size

    def place(self) -> str:
        """Say which records these are: how many, and their offsets in each partition, or in some of many."""
        ends = [f"{each} from offset {first} to {self.offsets[each] - 1}" for each, first in self.starts.items()]
        more = [f"and those of {len(ends) - MOST_SHOWN} more partitions"] if len(ends) > MOST_SHOWN else []
        return ", ".join([f"{self.count}", *ends[:MOST_SHOWN], *more])

    def to_put(self, columns: Sequence[str] | None, *, are_consumed_wanted: bool, heard: int | None = None) -> Put:
        """Return what gives the records to a task: these columns of them, and behind them how they were consumed."""
        batches = self.batches
        if columns is not None:
            wanted = {*columns, "row"} if are_consumed_wanted else {*columns}
            batches = [batch.select(wanted) for batch in batches]
        consumed = [as_consumed(source) for source in self.sources] if batches and are_consumed_wanted else []
        return Put([*batches, *consumed], len(consumed), heard)

    def without(self, partitions: set[TopicPartition]) -> Delivery:
        """Return what remains when partitions are taken away (by where the records came from)."""
        kept = [batch.filter(_not_from(batch, partitions)) for batch in self.batches]
        starts, offsets = (
            {partition: offset for partition, offset in each.items() if partition not in partitions}
            for each in (self.starts, self.offsets)
        )
        failures = [
            each for each in self.failures if (found := self.record(each.row)) and found.partition not in partitions
        ]
        batches = [batch for batch in kept if batch.num_rows]
        return Delivery(batches, self.sources, starts, offsets, self.topics, failures, self.record_size)

    def cut(self, start: int, end: int) -> Delivery:
        """Return the delivery of the records read from number ``start`` up to ``end``, which are numbered from 0."""
        sources, first = [], 0
        for source in self.sources:
            sources.append(source.slice(max(start - first, 0), max(end - first, 0)))
            first += len(source.offset)
        is_whole = start == 0 and end >= first
        cut = self.batches if is_whole else [_rows(batch, start, end) for batch in self.batches]
        piece = Delivery(
            [batch for batch in cut if batch.num_rows],
            tuple(source for source in sources if len(source.offset)),
            failures=[replace(each, row=each.row - start) for each in self.failures if start <= each.row < end],
            record_size=self.record_size,
        )
        piece.starts, piece.offsets = bounds(piece.sources)
        piece.topics = self.topics & {source.topic for source in piece.sources}
        return piece

    def record(self, row: int) -> Consumed | None:
        """Return the record that a row number stands for: rows are numbered through all sources."""
        for source in self.sources:
            if row < len(source.offset):
                return Consumed(source, row)
            row -= len(source.offset)
        return None


class PutFailed(ConnectError):
    """The task did not take records, for good, or its process ended meanwhile; its trace says first which records."""

    code = "task.put"
    java_name = ConnectError.java_name

    def __init__(self, error: PluginError, connector_class: str, delivery: Delivery) -> None:
        super().__init__("Exiting WorkerSinkTask due to unrecoverable exception.")
        self.trace = (
            f"{self.java_name}: {self}\nrecords: {delivery.place()}\nstage: TASK_PUT with class {connector_class}\n"
            f"Caused by: {ErrorInfo.of(error).trace}"
        )


@dataclass(frozen=True)
class SentPut:
    """A put that was sent; ``follows`` says that it counts only if the one before it ended as was hoped."""

    delivery: Delivery
    answer: Future[PutDone]
    follows: bool


class SentPuts:
    """The puts that were sent and are not settled, in order.

    The first is, or was, the task's; those that follow wait in the stage, which need not wait for them then. One may
    follow to begin with, and one more with each that was taken behind another. Where one is left out it is one again,
    so what is sent in vain to a task that says something in every put is no more than what it is given.
    """

    def __init__(self, takes_next: bool) -> None:
        """``takes_next`` says that the stage knows of puts that follow."""
        self._takes_next = takes_next
        self._puts: deque[SentPut] = deque()
        self._most = 1

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._puts)

    @property
    def first(self) -> SentPut:
        """Return the one that is answered next."""
        return self._puts[0]

    @property
    def may_be_followed(self) -> bool:
        """Return whether there is a put, and the next may be sent behind it."""
        count = len(self._puts)
        if not self._takes_next or not 0 < count <= self._most:
            return False
        return count == 1 or sum(put.delivery.size for put in self._puts) < AHEAD_BYTES

    def add(self, put: SentPut) -> None:
        """Note that a put was sent."""
        self._puts.append(put)

    def settle(self) -> None:
        """Note that the task took the first."""
        if self._puts.popleft().follows:
            self._most = min(self._most + 1, MOST_PUTS - 1)

    def forget(self) -> None:
        """Note that the first was not taken or not given to the task; nor is what follows it."""
        self._puts.clear()
        self._most = 1


def deserializing(incoming: Sequence[Incoming], pipeline: Pipeline) -> list[Callable[[], Outcome]]:
    """Have what was read deserialized, its rows numbered through all parts."""
    firsts = accumulate((len(part.offset) for part in incoming), initial=0)
    return [pipeline.deserializing(part, first) for part, first in zip(incoming, firsts)]


def delivered(
    incoming: Sequence[Incoming], outcomes: Sequence[Callable[[], Outcome]], pipeline: Pipeline, most: int
) -> list[Delivery]:
    """Wait for what was read, and transform it; returns it in order, in deliveries of at most ``most`` that were read.

    To convert much at once costs little more than to convert a few, however few the task is given at once.
    """
    delivery = Delivery(sources=tuple(incoming))
    for part, outcome in zip(incoming, [wait() for wait in outcomes]):
        delivery.failures += outcome.failures
        after = pipeline.transform(outcome.batches)
        delivery.batches += in_order(after.batches)
        delivery.failures += after.failures
        if outcome.batches:
            delivery.topics.add(part.topic)
    delivery.record_size = sum(batch.data.nbytes for batch in delivery.batches) / max(delivery.count, 1)
    count = sum(len(part.offset) for part in incoming)
    return [delivery.cut(start, min(start + most, count)) for start in range(0, count, most)]


def _rows(batch: Batch, start: int, end: int) -> Batch:
    """Return the rows of a batch that have these numbers, numbered from 0."""
    numbers = rows_of(batch)
    first, last = np.searchsorted(numbers, (start, end)).tolist()
    return batch.slice(first, last - first).with_columns(row=pa.array(numbers[first:last] - np.int32(start)))


def bounds(parts: Iterable[Incoming]) -> tuple[Offsets, Offsets]:
    """Return the first offset of each partition, and the one after its last; parts may be of one topic."""
    starts: Offsets = {}
    ends: Offsets = {}
    for part in parts:
        numbers = part.partition
        is_one = len(numbers) > 0 and (numbers == numbers[0]).all()
        for number in numbers[:1].tolist() if is_one else np.unique(numbers).tolist():
            offsets = part.offset if is_one else part.offset[numbers == number]
            partition = TopicPartition(part.topic, number)
            starts.setdefault(partition, int(offsets.min()))
            ends[partition] = int(offsets.max()) + 1
    return starts, ends


def _not_from(batch: Batch, partitions: set[TopicPartition]) -> Any:
    column = batch.column("original_partition")
    numbers = (column if column is not None else batch.column("partition")).to_pylist()
    topic = batch.original_topic or batch.topic or ""
    return pa.array([TopicPartition(topic, number) not in partitions for number in numbers], pa.bool_())
