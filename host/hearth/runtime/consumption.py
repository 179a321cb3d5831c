"""Positions of a sink task: records read, records put, committable offsets, and their commits.

``ConsumedPositions`` is the only place that keeps invariant 2 for sinks: an offset is committable only when the task
accepted the put of every record before it. Records that were revoked, sought past or refused are neither lost nor
counted.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from hearth.kafka.consumer import Consumer
from hearth.runtime.delivery import Delivery, Offsets
from hearth.runtime.observer import TaskObserver
from hearth_api import TopicPartition

COMMIT_SECONDS = 120.0
"""How many seconds to wait for the answer to a commit before sending another.

librdkafka keeps a commit while its coordinator is unavailable, and answers it when the session ends. It would send a
second commit after that, as a static member with an outdated identity: the broker fences it, and everything read and
put since its last commit is delivered again.
"""


@dataclass
class _Position:
    """One assigned partition. Both offsets are unknown until a record was read or a commit was found."""

    put: int | None
    """Every record before it, from the first one read, was put, filtered or skipped (Java's ``currentOffsets``)."""
    kept: int | None
    """Offset to rewind to: the last confirmed commit, or where reading started (``lastCommittedOffsets``)."""
    is_certain: bool = True
    """Whether the group has no later commit than ``kept``. False while a sent commit is unconfirmed."""


@dataclass
class ConsumedPositions:
    """Everything a sink task has read and not yet committed, per assigned partition.

    A record is *coming* when it was fetched and is being converted, *ahead* when it was converted and not yet handed
    over, *in flight* while the task has it or it waits for an earlier put, *refused* when the task asked for it again,
    and done once its put was ``accept``-ed. Operations come in any order. Whatever an operator, the group or the task
    does between two of them, ``hand_over`` returns refused records before newer ones and none of an unassigned
    partition, and ``committable`` never passes a record that was not accepted.
    """

    _positions: dict[TopicPartition, _Position] = field(default_factory=dict)
    _coming: deque[Offsets] = field(default_factory=deque)
    """Start offsets of each fetched batch that is being converted, without partitions dropped since."""
    _ahead: deque[Delivery] = field(default_factory=deque)
    _in_flight: deque[Delivery] = field(default_factory=deque)
    _refused: Delivery | None = None
    _sent: Offsets = field(default_factory=dict)
    _commit: int = 0

    @property
    def assigned(self) -> set[TopicPartition]:
        """Return the assigned partitions."""
        return set(self._positions)

    # Assignment -------------------------------------------------------------------------------------------------

    def assign(self, partitions: Iterable[TopicPartition], committed: Mapping[TopicPartition, int]) -> None:
        """Start over with these partitions, at their committed offsets where they have any."""
        for partition in partitions:
            self._forget({partition})
            self._positions[partition] = _Position(committed.get(partition), committed.get(partition))

    def revoke(self, partitions: Collection[TopicPartition]) -> None:
        """Forget these partitions. Their next owner reads from their committed offsets."""
        self._forget(set(partitions))
        for partition in partitions:
            self._positions.pop(partition, None)

    def rewind(self, offsets: Mapping[TopicPartition, int]) -> Offsets:
        """Move the assigned ones of these partitions to other offsets; return those to seek to.

        Records that were read and not accepted are dropped: they are read again, or no longer requested.
        """
        wanted = {partition: offset for partition, offset in offsets.items() if partition in self._positions}
        self._forget(set(wanted))
        for partition, offset in wanted.items():
            self._positions[partition] = _Position(offset, offset, self._positions[partition].is_certain)
        return wanted

    def go_back(self) -> Offsets:
        """Rewind to the last confirmed commits after a failed flush; return the offsets to seek to."""
        return self.rewind(
            {each: position.kept for each, position in self._positions.items() if position.kept is not None}
        )

    def withdraw(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Drop records of these partitions that were fetched and not handed over; return the offsets to seek to."""
        starts: Offsets = {}
        for own in reversed([*(delivery.starts for delivery in self._ahead), *self._coming]):
            starts.update({each: offset for each, offset in own.items() if each in partitions})
        self._drop_ahead(set(starts))
        return starts

    # Records --------------------------------------------------------------------------------------------------

    def fetch(self, starts: Offsets) -> None:
        """Register a fetched batch by its start offsets. ``read`` is called for each batch in the same order.

        Its records of partitions that are not assigned (any more) are ignored.
        """
        starts = {each: start for each, start in starts.items() if each in self._positions}
        for partition, start in starts.items():
            position = self._positions[partition]
            if position.put is None:
                position.put = position.kept = start
        self._coming.append(starts)

    def read(self, delivery: Delivery) -> None:
        """Add the converted records of the earliest fetched batch, without those dropped since."""
        strange = delivery.starts.keys() - self._coming.popleft().keys()
        delivery = delivery.without(strange) if strange else delivery
        if delivery.offsets:
            self._ahead.append(delivery)

    @property
    def is_ahead(self) -> bool:
        """Return whether any converted records were not handed over yet."""
        return bool(self._ahead)

    @property
    def is_refused(self) -> bool:
        """Return whether the task asked for records again."""
        return self._refused is not None

    @property
    def is_any_due(self) -> bool:
        """Return whether there are records to hand over."""
        return self.is_refused or self.is_ahead

    @property
    def next(self) -> Delivery | None:
        """Return the next delivery of those read ahead."""
        return self._ahead[0] if self._ahead else None

    def hand_over(self, count: int) -> Delivery:
        """Return the next delivery: refused records first, then the oldest read, else an empty one.

        It covers at most ``count`` of the records that were read.
        """
        assert not (self._in_flight and self.is_refused), "what was refused is handed over before anything newer"
        if self._refused is not None:
            whole, self._refused = self._refused, None
        else:
            whole = self._ahead.popleft() if self._ahead else Delivery()
        delivery, rest = whole.split(count)
        self._give_back(rest)
        self._in_flight.append(delivery)
        return delivery

    def accept(self, count: int | None = None) -> Delivery:
        """Mark the first delivery, or the part made from its first ``count`` read records, as accepted."""
        taken = self._first_in_flight(count)
        for partition, offset in taken.offsets.items():
            self._positions[partition].put = offset
        return taken

    def refuse(self, count: int | None = None) -> Delivery:
        """Mark the first delivery as refused, to be put again before newer records; return it.

        With ``count``, only the part made from that many read records; the rest follows it.
        """
        self._refused = refused = self._first_in_flight(count)
        self._drop_empty()
        self.take_back()
        return refused

    def take_back(self) -> None:
        """Return the deliveries that were not given to the task to those read ahead."""
        while self._in_flight:
            self._give_back(self._in_flight.pop())

    # Commits --------------------------------------------------------------------------------------------------

    def hold_back(self, partition: TopicPartition, offset: int) -> None:
        """Keep commits from passing a record that was neither accepted nor tolerated, however long ago its put was."""
        position = self._positions.get(partition)
        if position is not None and position.put is not None:
            position.put = min(position.put, offset)

    def done(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Return the offset up to which each of these partitions was put."""
        found = ((each, self._positions[each].put) for each in partitions if each in self._positions)
        return {partition: offset for partition, offset in found if offset is not None}

    def committable(self, agreed: Mapping[TopicPartition, int]) -> Offsets:
        """Return the offsets among ``agreed`` that may be committed and are not committed yet (Invariant 2)."""
        return {
            partition: offset
            for partition, offset in agreed.items()
            if (position := self._positions.get(partition)) is not None
            and position.put is not None
            and offset <= position.put
            and not (position.is_certain and offset == position.kept)
        }

    def send(self, offsets: Mapping[TopicPartition, int]) -> int:
        """Register a sent commit, which replaces any earlier one; return its number."""
        assert all(offset <= self.done([each]).get(each, -1) for each, offset in offsets.items())
        for partition in offsets:
            self._positions[partition].is_certain = False
        self._sent = dict(offsets)
        self._commit += 1
        return self._commit

    @property
    def is_committing(self) -> bool:
        """Return whether a commit is in flight."""
        return bool(self._sent)

    def confirm(self, commit: int, refused: Collection[TopicPartition] = ()) -> Offsets | None:
        """Apply the broker's answer to a commit, and return what is committed.

        Partitions that moved are ignored, and so are answers to abandoned commits, with None.
        """
        if commit != self._commit:
            return None
        committed = {partition: offset for partition, offset in self._sent.items() if partition not in refused}
        for partition, offset in committed.items():
            position = self._positions[partition]
            position.kept, position.is_certain = offset, True
        self._sent = {}
        return committed

    def give_up_commit(self) -> None:
        """Stop waiting for the answer to a commit. The next commit includes its offsets."""
        self._sent = {}

    # ----------------------------------------------------------------------------------------------------------

    def _forget(self, partitions: set[TopicPartition]) -> None:
        """Drop every record of these partitions, and their commit in flight."""
        self._drop_ahead(partitions)
        self._in_flight = deque(delivery.without(partitions) for delivery in self._in_flight)
        if self._refused is not None:
            self._refused = self._refused.without(partitions)
            self._drop_empty()
        self._sent = {each: offset for each, offset in self._sent.items() if each not in partitions}

    def _drop_ahead(self, partitions: set[TopicPartition]) -> None:
        for starts in self._coming:
            for partition in partitions & starts.keys():
                del starts[partition]
        if not any(partitions & delivery.offsets.keys() for delivery in self._ahead):
            return
        left = (delivery.without(partitions) for delivery in self._ahead)
        self._ahead = deque(delivery for delivery in left if delivery.offsets)

    def _first_in_flight(self, count: int | None) -> Delivery:
        """Remove the first delivery, or the part made from its first ``count`` read records, from those being put."""
        delivery, rest = self._in_flight.popleft(), None
        if count is not None:
            delivery, rest = delivery.split(count)
        if rest is not None:
            self._in_flight.appendleft(rest)
        return delivery

    def _give_back(self, delivery: Delivery | None) -> None:
        if delivery is not None and delivery.offsets:
            self._ahead.appendleft(delivery)

    def _drop_empty(self) -> None:
        if self._refused is not None and not self._refused.offsets:
            self._refused = None


class Commits:
    """Sends committable offsets to the group, one commit at a time, and applies the answers."""

    def __init__(
        self,
        positions: ConsumedPositions,
        consumer: Consumer,
        observer: TaskObserver,
        clock: Callable[[], float],
    ) -> None:
        self._positions, self._consumer, self._observer, self._clock = positions, consumer, observer, clock
        self._sent_at = 0.0

    def send(self, offsets: Offsets) -> None:
        """Send a commit unless ``offsets`` is empty; its answer is taken later."""
        if offsets:
            number = self._positions.send(offsets)
            self._observer.commit_begun()
            self._sent_at = self._clock()
            self._consumer.commit(offsets, number)

    def are_under_way(self) -> bool:
        """Apply the answers that arrived; return whether a commit is still unanswered (after a timeout: no longer)."""
        self._take_answers(0)
        if self._positions.is_committing and self._clock() >= self._sent_at + COMMIT_SECONDS:
            self._observer.commit_failed("a commit was not answered, they are committed again")
            self._positions.give_up_commit()
            return True
        return self._positions.is_committing

    def await_answer(self, seconds: float) -> None:
        """Wait for the answer to the commit in flight, at most ``seconds`` after it was sent."""
        give_up_at = self._sent_at + seconds
        while self._positions.is_committing and (left := give_up_at - self._clock()) > 0:
            self._take_answers(left)

    def _take_answers(self, wait: float) -> None:
        for answer in self._consumer.commit_answers(math.ceil(wait * 1000)):
            for partition, error in answer.refused.items():
                self._observer.commit_failed(f"that of {partition} was refused: {error}")
            committed = self._positions.confirm(answer.number, answer.refused)
            if committed is None:
                self._observer.commit_passed()
            elif not answer.refused:
                self._observer.committed(self._clock() - self._sent_at, committed)
