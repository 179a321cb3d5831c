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
from hearth_execution.order import in_order, rows_between, rows_of, select
from hearth_execution.transformation import Outcome
from hearth_stage.task_call import Put, PutDone

Offsets = dict[TopicPartition, int]

MOST_SHOWN = 10
"""How many partitions are named in an error."""
MOST_PUTS = 10
"""How many puts go to a stage with one call at most; as much is read and converted at once."""
MOST_CALLS = 3
"""How many calls are with a stage at most."""
CALL_BYTES = 2 << 20
"""What goes with one call at most, unless one put has more: about as much as is read at once."""
AHEAD_BYTES = 1 << 20
"""With so many bytes in the stage one call that waits is enough: more of large ones would fill its memory."""
QUICK_SECONDS = 0.05
"""How long the task may be at the puts of a call, by what those before took."""


@dataclass
class Delivery:
    """Records read and converted: what is put next, and the offsets that are done once it is put.

    They are what was read at once, or a part of that. ``failures`` are those that could not be converted; they are
    judged once: before the others of their put are put, or when a put that followed another was taken.
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

    @property
    def read(self) -> int:
        """Return of how many records that were read this is what is left to be put."""
        return sum(len(source.offset) for source in self.sources)

    def place(self) -> str:
        """Say which records these are: how many, and their offsets in each partition, or in some of many."""
        ends = [f"{each} from offset {first} to {self.offsets[each] - 1}" for each, first in self.starts.items()]
        more = [f"and those of {len(ends) - MOST_SHOWN} more partitions"] if len(ends) > MOST_SHOWN else []
        return ", ".join([f"{self.count}", *ends[:MOST_SHOWN], *more])

    def to_put(
        self, columns: Sequence[str] | None, most: int, *, are_consumed_wanted: bool, heard: int | None = None
    ) -> Put:
        """Return what gives the records to a task, with each put at most so many that were read.

        Of them it has these columns, and behind them how they were consumed.
        """
        batches, read = self.batches, self.read
        ends = [*range(most, read, most), read] if read > most else []
        if columns is not None:
            batches = select(batches, {*columns, "row"} if are_consumed_wanted or ends else columns)
        consumed = [as_consumed(source) for source in self.sources] if batches and are_consumed_wanted else []
        return Put([*batches, *consumed], len(consumed), heard, ends)

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

    def split(self, count: int) -> tuple[Delivery, Delivery | None]:
        """Return what is left of the first so many records that were read, and of the others, if there are any."""
        read = self.read
        return (self, None) if read <= count else (self._cut(0, count), self._cut(count, read))

    def _cut(self, start: int, end: int) -> Delivery:
        """Return the delivery of the records read from number ``start`` up to ``end``, which are numbered from 0."""
        sources, first = [], 0
        for source in self.sources:
            sources.append(source.slice(max(start - first, 0), max(end - first, 0)))
            first += len(source.offset)
        piece = Delivery(
            [_counted_from(start, batch) for batch in rows_between(self.batches, start, end)],
            tuple(source for source in sources if len(source.offset)),
            failures=[replace(each, row=each.row - start) for each in self.failures if start <= each.row < end],
            record_size=self.record_size,
        )
        piece.starts, piece.offsets = (
            {partition: offset for partition, offset in each.items() if partition in self.offsets}
            for each in bounds(piece.sources)
        )
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
    """A put that was sent, or several; ``follows`` says that they count only if all before them ended as was hoped."""

    delivery: Delivery
    answer: Future[PutDone]
    follows: bool


class SentPuts:
    """The puts that were sent and are not settled, in order.

    The first is, or was, the task's; those that follow wait in the stage, which need not wait for them then. What
    follows is one put to begin with, and twice as many with each call that was taken behind another, as far as the
    task is quick. Where one is left out it is one again, so what is sent in vain to a task that says something in
    every put is no more than what it is given.
    """

    def __init__(self, takes_next: bool) -> None:
        """``takes_next`` says that the stage knows of puts that follow."""
        self._takes_next = takes_next
        self._puts: deque[SentPut] = deque()
        self._most = 1
        self._quick = MOST_PUTS
        """How many puts a task does in the time that there is for those of a call."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._puts)

    @property
    def first(self) -> SentPut:
        """Return the one that is answered next."""
        return self._puts[0]

    @property
    def is_more_than_one(self) -> bool:
        """Return whether there are more puts than one, so that some may not have begun."""
        return any(put.follows for put in self._puts)

    @property
    def may_be_followed(self) -> bool:
        """Return whether there is a put, and the next may be sent behind it."""
        count = len(self._puts)
        if not self._takes_next or not 0 < count < MOST_CALLS:
            return False
        return count == 1 or sum(put.delivery.size for put in self._puts) < AHEAD_BYTES

    def most_to_follow(self, delivery: Delivery, most: int, *, is_tolerant: bool) -> int:
        """Return how many records that were read may follow with one call, of which a put has ``most``.

        Unless failures are tolerated none follows with or behind a record that could not be converted: that one ends
        the task when its turn has come.
        """
        small = int(CALL_BYTES / max(1.0, most * delivery.record_size))
        plain = delivery.read
        if not is_tolerant and delivery.failures:
            plain = min(each.row for each in delivery.failures) // most * most
        return min(plain, most * max(1, min(self._most, self._quick, small)))

    def add(self, put: SentPut) -> None:
        """Note that a put was sent."""
        self._puts.append(put)

    def settle(self, seconds: float) -> None:
        """Note that the task took the first, and how long a put of it took."""
        self._quick = int(min(MOST_PUTS, QUICK_SECONDS / max(seconds, 1e-6)))
        if self._puts.popleft().follows:
            self._most = min(self._most * 2, MOST_PUTS)

    def forget(self) -> None:
        """Note that the first was not taken or not given to the task; nor is what follows it."""
        self._puts.clear()
        self._most = 1


def deserializing(incoming: Sequence[Incoming], pipeline: Pipeline) -> list[Callable[[], Outcome]]:
    """Have what was read deserialized, its rows numbered through all parts."""
    firsts = accumulate((len(part.offset) for part in incoming), initial=0)
    return [pipeline.deserializing(part, first) for part, first in zip(incoming, firsts)]


def delivered(
    incoming: Sequence[Incoming],
    outcomes: Sequence[Callable[[], Outcome]],
    pipeline: Pipeline,
    *,
    skip: Callable[[int], None] | None = None,
) -> Delivery:
    """Wait for what was read, and transform it; ``skip`` is told how many failed where nobody wants to hear more.

    To convert much at once costs little more than to convert a few, however few the task is given at once.
    """
    starts, offsets = bounds(incoming)
    delivery = Delivery(sources=tuple(incoming), starts=starts, offsets=offsets)
    for part, outcome in zip(incoming, [wait() for wait in outcomes]):
        after = pipeline.transform(outcome.batches)
        delivery.batches += in_order(after.batches)
        failures = [*outcome.failures, *after.failures]
        if skip is None:
            delivery.failures += failures
        else:
            skip(len(failures))
        if outcome.batches:
            delivery.topics.add(part.topic)
    delivery.record_size = sum(batch.data.nbytes for batch in delivery.batches) / max(delivery.count, 1)
    return delivery


def _counted_from(start: int, batch: Batch) -> Batch:
    """Return a batch whose rows have numbers that are smaller by ``start``."""
    return batch.with_columns(row=pa.array(rows_of(batch) - np.int32(start))) if start else batch


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
