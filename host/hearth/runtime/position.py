"""Positions of a source task: which offsets may be committed, and what must be sent again for their sake.

This is the one place that keeps invariant 2 for sources: a position never passes a record that is not acknowledged.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa


class SourceRows(NamedTuple):
    """Rows of one source partition, in their order.

    ``offsets`` is an Arrow array of JSON text, one per record; ``rows`` a numpy array of the place of each among the
    records that are taken in with it.
    """

    partition: Any
    offsets: Any
    rows: Any


@dataclass
class _Span:
    """What was taken in together, with what must stay in memory until the position of each record is known."""

    first: int
    done: Any
    over: Any
    """Records that will not be sent, again or at all: dropped before, or given up."""
    held: Any
    left: int = 0
    parts: list[_Part] = field(default_factory=list)

    def count(self) -> None:
        """Count the records that are left; where none is, their queues may have come further."""
        self.left = len(self.done) - int(np.count_nonzero(self.done))
        if self.left == 0:
            for part in [*self.parts]:
                part.queue.advance()

    def part_of(self, row: int) -> tuple[_Part, int]:
        """Return the part that a record belongs to, and its place in there."""
        places = ((part, np.flatnonzero(part.rows == row).tolist()) for part in self.parts)
        return next((part, place) for part, found in places for place in found)

    def release(self, part: _Part) -> None:
        """Let go of a part, and of all that is held with the last: a batch shares the memory of its whole frame."""
        self.parts.remove(part)
        if not self.parts:
            self.held = None

    def recall(self, lowest: dict[int, int], waiting: Any) -> Any:
        """Take back what is done of some queues from a record on; return all to be sent, with what waits for it."""
        again = np.zeros(len(self.done), np.bool_)
        for part in self.parts:
            if (number := lowest.get(id(part.queue))) is not None:
                again[part.rows] = ~self.done[part.rows] | (self.first + part.rows >= number)
        again &= ~self.over
        self.done[again] = False
        self.count()
        own = waiting[(waiting >= self.first) & (waiting < self.first + len(self.done))]
        again[own - self.first] = True
        return self.first + np.flatnonzero(again)


@dataclass(eq=False)
class _Part:
    """The records of one source partition in a span."""

    span: _Span
    queue: _Queue
    rows: Any
    offsets: Any
    passed: int = 0
    """Records whose position was told as committable."""


@dataclass
class _Queue:
    """What was submitted of one source partition and is not committable to its end."""

    partition: Any
    parts: deque[_Part] = field(default_factory=deque)
    offset: str | None = None
    """The last committable offset that was not told yet."""

    def advance(self) -> None:
        """Drop finished parts from the front and note the last offset before the first gap."""
        while self.parts:
            part = self.parts[0]
            done = part.span.done[part.rows]
            is_over = bool(done.all())
            end = len(done) if is_over else int(np.argmin(done))
            known = part.offsets.slice(part.passed, end - part.passed).drop_null()
            self.offset = known[-1].as_py() if len(known) else self.offset
            part.passed = end
            if not is_over:
                return
            part.span.release(self.parts.popleft())


@dataclass
class SubmittedPositions:
    """Every record handed to the producer and not yet committed, in order per source partition.

    Records carry sequence numbers that count up over the whole task. ``acknowledge`` may come in any order; a
    source partition's committable offset is that of the last record before its first unacknowledged one (Kafka's
    ``SubmittedRecords``). Records without a source partition or offset are tracked and never committed.
    """

    _next: int = 0
    _spans: deque[_Span] = field(default_factory=deque)
    _queues: dict[str, _Queue] = field(default_factory=dict)

    @property
    def pending(self) -> int:
        """Return the number of records that wait for their acknowledgement."""
        return sum(span.left for span in self._spans)

    @property
    def is_told(self) -> bool:
        """Return whether ``committable`` has told the last offset of all that was submitted."""
        return not self._queues

    def submit(self, records: Sequence[SourceRows], written: Any, held: Any = None) -> int:
        """Take in records that were polled together and return the first's sequence number.

        ``written`` marks, as a boolean numpy array, the records that will be acknowledged; the others were dropped and
        count as done. ``held`` is kept until the positions of all are committable, because until then they may have to
        be sent again.
        """
        span = _Span(self._next, ~written, ~written, held)
        self._next += len(written)
        self._spans.append(span)
        for key, each in _by_partition(records):
            queue = self._queues.setdefault(key, _Queue(each.partition))
            part = _Part(span, queue, each.rows, each.offsets)
            span.parts.append(part)
            queue.parts.append(part)
        span.count()
        self._forget()
        return span.first

    def acknowledge(self, sequences: Any) -> None:
        """Mark records, given by their sequence numbers, as written; what is marked already stays so."""
        self._mark(sequences, is_over=False)

    def give_up(self, sequences: Any) -> None:
        """Mark records as skipped for their own sake: they count as done and are not sent again."""
        self._mark(sequences, is_over=True)

    def recall(self, sequences: Any, waiting: Any) -> list[tuple[int, Any, Any]]:
        """Return what to send so that these records come again in order: first number, ``held`` and numbers by span.

        To be asked while nothing is on its way. Of each source partition concerned that is everything from the first
        of these records on, also what was acknowledged since: it counts as unacknowledged again, for only its next
        acknowledgement comes in order (invariant 4). Between them, in their order, are those that are ``waiting`` to
        be sent the first time, whatever they were read from.
        """
        lowest: dict[int, int] = {}
        for number, owner in zip(sequences.tolist(), self._owners(sequences).tolist()):
            part, _ = self._spans[owner].part_of(number - self._spans[owner].first)
            queue = id(part.queue)
            lowest[queue] = min(number, lowest.get(queue, number))
        recalled = [(span.first, span.held, span.recall(lowest, waiting)) for span in self._spans]
        return [each for each in recalled if len(each[2])]

    def find(self, sequence: int) -> tuple[Any, int, Any, Any]:
        """Return what is held for a record that is not acknowledged, its row in that, and where it was read."""
        span = self._spans[int(self._owners(np.array([sequence]))[0])]
        row = sequence - span.first
        part, place = span.part_of(row)
        offset = part.offsets[place].as_py()
        return span.held, row, part.queue.partition, None if offset is None else json.loads(offset)

    def committable(self) -> list[tuple[Any, Any]]:
        """Return source partitions with offsets that became committable since the last call."""
        found = []
        for key, queue in list(self._queues.items()):
            queue.advance()
            if queue.offset is not None and queue.partition is not None:
                found.append((queue.partition, json.loads(queue.offset)))
            queue.offset = None
            if not queue.parts:
                del self._queues[key]
        return found

    def _owners(self, sequences: Any) -> Any:
        firsts = np.fromiter((span.first for span in self._spans), np.int64, len(self._spans))
        return np.searchsorted(firsts, sequences, side="right") - 1

    def _mark(self, sequences: Any, *, is_over: bool) -> None:
        if not len(sequences):
            return
        first, last = self._owners(np.array([sequences.min(), sequences.max()])).tolist()
        for span in islice(self._spans, max(first, 0), last + 1):
            rows = sequences - span.first
            if first != last:
                rows = rows[(rows >= 0) & (rows < len(span.done))]
            span.done[rows] = True
            if is_over:
                span.over[rows] = True
            span.count()
        self._forget()

    def _forget(self) -> None:
        while self._spans and self._spans[0].left == 0:
            self._spans.popleft()


def _by_partition(records: Sequence[SourceRows]) -> list[tuple[str, SourceRows]]:
    """Return the rows of each source partition, in the order of their places, with a text that stands for it."""
    groups: dict[str, list[SourceRows]] = {}
    keys: dict[str, str] = {}
    for each in records:
        written = repr(each.partition)
        if (key := keys.get(written)) is None:
            # the same, in whatever order a record names its parts
            key = keys[written] = json.dumps(each.partition, sort_keys=True)
        groups.setdefault(key, []).append(each)
    return [(key, _ordered(own) if len(own) > 1 else own[0]) for key, own in groups.items()]


def _ordered(records: Sequence[SourceRows]) -> SourceRows:
    rows = np.concatenate([each.rows for each in records])
    order = np.argsort(rows)
    offsets = pa.concat_arrays([each.offsets for each in records]).take(pa.array(order))
    return SourceRows(records[0].partition, offsets, rows[order])
