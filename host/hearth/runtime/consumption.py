"""Positions of a sink task: what was read, what the task has, which offsets may be committed, and their commits.

``ConsumedPositions`` is the one place that keeps invariant 2 for sinks: an offset is committable only when the put of
every record before it was accepted, and what was taken away, read elsewhere or refused meanwhile is nowhere forgotten
and nowhere counted.
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
"""How long the answer to a commit is waited for before another is sent.

librdkafka keeps a commit while its coordinator is away and answers it when the session is over. A second one beside it
would be sent after that, by a static member that does not know itself any more: the broker fences it, and all that it
read and put since its last commit comes again.
"""


@dataclass
class _Position:
    """One assigned partition; both offsets are unknown until something was read or a commit was found."""

    put: int | None
    """Every record before it, from where reading began, was put, filtered or skipped (Java's ``currentOffsets``)."""
    kept: int | None
    """Where to go back to: the last confirmed commit, before it where reading began (``lastCommittedOffsets``)."""
    is_certain: bool = True
    """Whether the group has no later commit than that: of one that was sent, and not confirmed, nobody knows."""


@dataclass
class ConsumedPositions:
    """Everything a sink task has read and not yet committed, per assigned partition.

    A record is *coming* when it was fetched and not read yet, because it is being converted, *ahead* when it was read
    and not handed over, *putting* while the task has it or it waits behind that,
    *refused* when the task asked for it again, and counts as done once its put was ``accept``-ed. Operations come in
    any order: whatever an operator, the group or the task does between two of them, ``hand_over`` gives out refused
    records before newer ones and none of a partition that is not assigned, and ``committable`` stays behind what was
    not accepted.
    """

    _positions: dict[TopicPartition, _Position] = field(default_factory=dict)
    _coming: deque[Offsets] = field(default_factory=deque)
    """Where each piece that is coming begins, in the partitions of which it is still wanted."""
    _ahead: deque[Delivery] = field(default_factory=deque)
    _put_loop: deque[Delivery] = field(default_factory=deque)
    _refused: Delivery | None = None
    _sent: Offsets = field(default_factory=dict)
    _commit: int = 0

    @property
    def assigned(self) -> set[TopicPartition]:
        """Return the partitions that are assigned."""
        return set(self._positions)

    # Partitions come and go -----------------------------------------------------------------------------------

    def assign(self, partitions: Iterable[TopicPartition], committed: Mapping[TopicPartition, int]) -> None:
        """Begin anew with these partitions, at their committed offsets where they have some."""
        for partition in partitions:
            self._forget({partition})
            self._positions[partition] = _Position(committed.get(partition), committed.get(partition))

    def revoke(self, partitions: Collection[TopicPartition]) -> None:
        """Forget all of these partitions: whoever has them next reads from their committed offsets."""
        self._forget(set(partitions))
        for partition in partitions:
            self._positions.pop(partition, None)

    def rewind(self, offsets: Mapping[TopicPartition, int]) -> Offsets:
        """Go on elsewhere in the assigned ones of these partitions, as the task or its runtime wants; returns where.

        What was read and not accepted is dropped with it: it is read again, or not wanted.
        """
        wanted = {partition: offset for partition, offset in offsets.items() if partition in self._positions}
        self._forget(set(wanted))
        for partition, offset in wanted.items():
            self._positions[partition] = _Position(offset, offset, self._positions[partition].is_certain)
        return wanted

    def go_back(self) -> Offsets:
        """Return to the last confirmed commits, for a flush that failed; returns where to read on."""
        return self.rewind(
            {each: position.kept for each, position in self._positions.items() if position.kept is not None}
        )

    def withdraw(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Take back what of these partitions was fetched and not handed over; returns where to read on."""
        starts: Offsets = {}
        for own in reversed([*(delivery.starts for delivery in self._ahead), *self._coming]):
            starts.update({each: offset for each, offset in own.items() if each in partitions})
        self._drop_ahead(set(starts))
        return starts

    # Records --------------------------------------------------------------------------------------------------

    def fetch(self, starts: Offsets) -> None:
        """Take note of a piece that was fetched and begins here; ``read`` takes it in, in this order.

        What it holds of partitions that are not assigned (any more) is not wanted.
        """
        starts = {each: start for each, start in starts.items() if each in self._positions}
        for partition, start in starts.items():
            position = self._positions[partition]
            if position.put is None:
                position.put = position.kept = start
        self._coming.append(starts)

    def read(self, delivery: Delivery) -> None:
        """Take in what became of the piece that was fetched first, as far as it is wanted still."""
        strange = delivery.starts.keys() - self._coming.popleft().keys()
        delivery = delivery.without(strange) if strange else delivery
        if delivery.offsets:
            self._ahead.append(delivery)

    @property
    def is_ahead(self) -> bool:
        """Return whether there are records that were read and not handed over."""
        return bool(self._ahead)

    @property
    def is_refused(self) -> bool:
        """Return whether there are records that the task wants to be given again."""
        return self._refused is not None

    @property
    def is_any_due(self) -> bool:
        """Return whether there are records to hand over."""
        return self.is_refused or self.is_ahead

    @property
    def next(self) -> Delivery | None:
        """Return what is handed over next of what was read ahead."""
        return self._ahead[0] if self._ahead else None

    @property
    def put_loop(self) -> Delivery | None:
        """Return what the task has and has not answered for, as it was handed over; the first where others follow."""
        return self._put_loop[0] if self._put_loop else None

    def hand_over(self, count: int) -> Delivery:
        """Return what the task is given next: what it refused, else what was read first, else nothing at all.

        That is of at most so many records that were read.
        """
        assert not (self._put_loop and self.is_refused), "what was refused is handed over before anything newer"
        if self._refused is not None:
            whole, self._refused = self._refused, None
        else:
            whole = self._ahead.popleft() if self._ahead else Delivery()
        delivery, rest = whole.split(count)
        self._give_back(rest)
        self._put_loop.append(delivery)
        return delivery

    def accept(self, count: int | None = None) -> Delivery:
        """Note that the task took what it was handed over first, or of that only what so many read records became."""
        taken = self._first_putting(count)
        for partition, offset in taken.offsets.items():
            self._positions[partition].put = offset
        return taken

    def refuse(self, count: int | None = None) -> Delivery:
        """Note that the task wants what it was handed over first again, before anything newer; returns that.

        With ``count`` that is only what so many of the records that were read became; others come behind it.
        """
        self._refused = refused = self._first_putting(count)
        self._drop_empty()
        self.take_back()
        return refused

    def take_back(self) -> None:
        """Note that what was handed over to follow was not given to the task."""
        while self._put_loop:
            self._give_back(self._put_loop.pop())

    # Commits --------------------------------------------------------------------------------------------------

    def hold_back(self, partition: TopicPartition, offset: int) -> None:
        """Let no commit pass a record that turned out to be neither taken nor tolerated, however long ago its put."""
        position = self._positions.get(partition)
        if position is not None and position.put is not None:
            position.put = min(position.put, offset)

    def done(self, partitions: Collection[TopicPartition]) -> Offsets:
        """Return how far each of these partitions is put."""
        found = ((each, self._positions[each].put) for each in partitions if each in self._positions)
        return {partition: offset for partition, offset in found if offset is not None}

    def committable(self, agreed: Mapping[TopicPartition, int]) -> Offsets:
        """Return what of the offsets the task agreed to may be committed, and is not committed yet (Invariant 2)."""
        return {
            partition: offset
            for partition, offset in agreed.items()
            if (position := self._positions.get(partition)) is not None
            and position.put is not None
            and offset <= position.put
            and not (position.is_certain and offset == position.kept)
        }

    def send(self, offsets: Mapping[TopicPartition, int]) -> int:
        """Note that a commit is on its way, the only one that counts from now on; returns its number."""
        assert all(offset <= self.done([each]).get(each, -1) for each, offset in offsets.items())
        for partition in offsets:
            self._positions[partition].is_certain = False
        self._sent = dict(offsets)
        self._commit += 1
        return self._commit

    @property
    def is_committing(self) -> bool:
        """Return whether a commit is on its way."""
        return bool(self._sent)

    def confirm(self, commit: int, refused: Collection[TopicPartition] = ()) -> None:
        """Note the broker's answer to a commit; one that was given up, or of partitions that moved, is no news."""
        if commit != self._commit:
            return
        for partition, offset in self._sent.items():
            if partition not in refused:
                position = self._positions[partition]
                position.kept, position.is_certain = offset, True
        self._sent = {}

    def give_up_commit(self) -> None:
        """Wait no longer for the answer to a commit; its offsets are committed again with the next."""
        self._sent = {}

    # ----------------------------------------------------------------------------------------------------------

    def _forget(self, partitions: set[TopicPartition]) -> None:
        """Drop every record of these partitions, and what is on its way for them."""
        self._drop_ahead(partitions)
        self._put_loop = deque(delivery.without(partitions) for delivery in self._put_loop)
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

    def _first_putting(self, count: int | None) -> Delivery:
        """Take what was handed over first, or what so many of its records became, out of what is being put."""
        delivery, rest = self._put_loop.popleft(), None
        if count is not None:
            delivery, rest = delivery.split(count)
        if rest is not None:
            self._put_loop.appendleft(rest)
        return delivery

    def _give_back(self, delivery: Delivery | None) -> None:
        if delivery is not None and delivery.offsets:
            self._ahead.appendleft(delivery)

    def _drop_empty(self) -> None:
        if self._refused is not None and not self._refused.offsets:
            self._refused = None


class Commits:
    """Sends what may be committed to the group, one commit at a time, and takes in what became of it."""

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
        """Send a commit, if there is something to commit; its answer counts, when it comes."""
        if offsets:
            number = self._positions.send(offsets)
            self._sent_at = self._clock()
            self._consumer.commit(offsets, number)

    def are_under_way(self) -> bool:
        """Take in the answers that came, and return whether one is waited for; not for ever."""
        self._take_answers(0)
        if self._positions.is_committing and self._clock() >= self._sent_at + COMMIT_SECONDS:
            self._observer.commit_failed("a commit was not answered, they are committed again")
            self._positions.give_up_commit()
            return True
        return self._positions.is_committing

    def await_answer(self, seconds: float) -> None:
        """Wait for the answer to a commit that is under way, at most so long after it was sent."""
        give_up_at = self._sent_at + seconds
        while self._positions.is_committing and (left := give_up_at - self._clock()) > 0:
            self._take_answers(left)

    def _take_answers(self, wait: float) -> None:
        for answer in self._consumer.commit_answers(math.ceil(wait * 1000)):
            for partition, error in answer.refused.items():
                self._observer.commit_failed(f"that of {partition} was refused: {error}")
            if not answer.refused:
                self._observer.committed()
            self._positions.confirm(answer.number, answer.refused)
