"""Records between the consumer and the task of a sink: converted deliveries, and puts that were sent."""

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
"""How many partitions an error names."""
MOST_PUTS = 10
"""Most puts that one call sends to a stage. As much is read and converted at once."""
MOST_CALLS = 3
"""Most calls that a stage may have at once."""
CALL_BYTES = 2 << 20
"""Most bytes that one call sends, unless a single put has more: about as much as one read."""
AHEAD_BYTES = 1 << 20
"""With this many bytes in the stage one waiting call is enough: more large ones would fill its memory."""
QUICK_SECONDS = 0.05
"""Target duration in seconds for the puts of one call, estimated from earlier puts."""


@dataclass
class Delivery:
    """Converted records: what is put next, and the offsets that are done once it is put.

    They come from one read, or from a part of one. ``failures`` are records that could not be converted. They are
    judged once: before the others of their put are put, or, for a put that followed another, when it was accepted.
    """

    batches: list[Batch] = field(default_factory=list)
    sources: tuple[Incoming, ...] = ()
    starts: Offsets = field(default_factory=dict)
    offsets: Offsets = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    """Topics of the records that could be converted, including those that transformations dropped."""
    failures: list[Failure] = field(default_factory=list)
    record_size: float = 0.0
    """Average bytes per record of those converted together."""

    @property
    def count(self) -> int:
        """Return the number of records to put."""
        return sum(batch.num_rows for batch in self.batches)

    @property
    def size(self) -> float:
        """Return the estimated size in bytes: counting exactly costs more than sending them."""
        return self.count * self.record_size

    @property
    def read(self) -> int:
        """Return the number of read records that this delivery covers."""
        return sum(len(source.offset) for source in self.sources)

    def place(self) -> str:
        """Describe the records: how many, and their offsets per partition (for some, where there are many)."""
        ends = [f"{each} from offset {first} to {self.offsets[each] - 1}" for each, first in self.starts.items()]
        more = [f"and those of {len(ends) - MOST_SHOWN} more partitions"] if len(ends) > MOST_SHOWN else []
        return ", ".join([f"{self.count}", *ends[:MOST_SHOWN], *more])

    def to_put(
        self, columns: Sequence[str] | None, most: int, *, are_consumed_wanted: bool, heard: int | None = None
    ) -> Put:
        """Return the call that gives the records to a task, each put made from at most ``most`` read records.

        It has the requested columns, followed by the records as consumed.
        """
        batches, read = self.batches, self.read
        ends = [*range(most, read, most), read] if read > most else []
        if columns is not None:
            batches = select(batches, {*columns, "row"} if are_consumed_wanted or ends else columns)
        consumed = [as_consumed(source) for source in self.sources] if batches and are_consumed_wanted else []
        return Put([*batches, *consumed], len(consumed), heard, ends)

    def without(self, partitions: set[TopicPartition]) -> Delivery:
        """Return the delivery without the records of some (original) partitions."""
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
        """Return the part made from the first ``count`` read records, and the part from the others, if any."""
        read = self.read
        return (self, None) if read <= count else (self._cut(0, count), self._cut(count, read))

    def _cut(self, start: int, end: int) -> Delivery:
        """Return the part made from read records ``start`` to ``end`` (exclusive), renumbered from 0."""
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
        """Return the consumed record of a row number; rows are numbered through all sources."""
        for source in self.sources:
            if row < len(source.offset):
                return Consumed(source, row)
            row -= len(source.offset)
        return None


class PutFailed(ConnectError):
    """The task refused records with an error that is not retriable, or its process ended.

    The trace names the records.
    """

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
    """One or several puts that were sent. With ``follows`` they count only if all before them succeeded."""

    delivery: Delivery
    answer: Future[PutDone]
    follows: bool


class SentPuts:
    """The puts that were sent and are not settled, in order.

    The first is with the task. Others wait in the stage, which so starts them without a round trip. A call holds one
    put at first, and twice as many with each following call that was accepted, while the task is quick. After a
    skipped put it holds one again. So a task that uses its context in every put is sent at most as much without effect
    as it is given.
    """

    def __init__(self, takes_next: bool) -> None:
        """``takes_next``: the stage accepts puts that follow others."""
        self._takes_next = takes_next
        self._puts: deque[SentPut] = deque()
        self._most = 1
        self._quick = MOST_PUTS
        """How many puts the task can do in the target duration of a call."""

    def __len__(self) -> int:
        """Return the number of calls."""
        return len(self._puts)

    @property
    def first(self) -> SentPut:
        """Return the call that is answered next."""
        return self._puts[0]

    @property
    def is_more_than_one(self) -> bool:
        """Return whether several puts are sent, so that some may not have started."""
        return any(put.follows for put in self._puts)

    @property
    def may_be_followed(self) -> bool:
        """Return whether a put is sent and another may follow it."""
        count = len(self._puts)
        if not self._takes_next or not 0 < count < MOST_CALLS:
            return False
        return count == 1 or sum(put.delivery.size for put in self._puts) < AHEAD_BYTES

    def most_to_follow(self, delivery: Delivery, most: int, *, is_tolerant: bool) -> int:
        """Return how many read records the next call may hold; one put has ``most``.

        Unless failures are tolerated, no record follows together with or after one that could not be converted: that
        one fails the task when it is reached.
        """
        small = int(CALL_BYTES / max(1.0, most * delivery.record_size))
        plain = delivery.read
        if not is_tolerant and delivery.failures:
            plain = min(each.row for each in delivery.failures) // most * most
        return min(plain, most * max(1, min(self._most, self._quick, small)))

    def add(self, put: SentPut) -> None:
        """Add a sent put."""
        self._puts.append(put)

    def settle(self, seconds: float) -> None:
        """Remove the first call, which was accepted; ``seconds`` is how long one put of it took."""
        self._quick = int(min(MOST_PUTS, QUICK_SECONDS / max(seconds, 1e-6)))
        if self._puts.popleft().follows:
            self._most = min(self._most * 2, MOST_PUTS)

    def forget(self) -> None:
        """Drop all calls: the first was refused or not given to the task, and so are those that follow it."""
        self._puts.clear()
        self._most = 1


def deserializing(incoming: Sequence[Incoming], pipeline: Pipeline) -> list[Callable[[], Outcome]]:
    """Start to deserialize what was read, with rows numbered through all parts."""
    firsts = accumulate((len(part.offset) for part in incoming), initial=0)
    return [pipeline.deserializing(part, first) for part, first in zip(incoming, firsts)]


def delivered(
    incoming: Sequence[Incoming],
    outcomes: Sequence[Callable[[], Outcome]],
    pipeline: Pipeline,
    *,
    skip: Callable[[int], None] | None = None,
) -> Delivery:
    """Wait for deserialized records, and transform them; ``skip`` is called with counts of unreported failures.

    Converting many records at once costs little more than a few, however few one put takes.
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
    """Return a batch with row numbers reduced by ``start``."""
    return batch.with_columns(row=pa.array(rows_of(batch) - np.int32(start))) if start else batch


def bounds(parts: Iterable[Incoming]) -> tuple[Offsets, Offsets]:
    """Return the first offset of each partition, and the one after its last. Several parts may be of one topic."""
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
