"""Positions of a source task: which offsets may be committed, and which records must be sent again.

This is the only place that keeps invariant 2 for sources: a position never passes a record that is not acknowledged.
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
    """Rows of one source partition, in order.

    ``offsets`` is an Arrow array of JSON text, one per record; ``rows`` is a numpy array of each record's row in its
    poll.
    """

    partition: Any
    offsets: Any
    rows: Any


@dataclass
class _Span:
    """Records submitted together, with what stays in memory until the position of each is committable."""

    first: int
    done: Any
    over: Any
    """Records that will not be sent (again): dropped by a transformation, or given up."""
    held: Any
    left: int = 0
    parts: list[_Part] = field(default_factory=list)

    def count(self) -> None:
        """Update the number of unfinished records; with none left, advance the queues."""
        self.left = len(self.done) - int(np.count_nonzero(self.done))
        if self.left == 0:
            for part in [*self.parts]:
                part.queue.advance()

    def part_of(self, row: int) -> tuple[_Part, int]:
        """Return the part that contains a record, and the record's index in it."""
        places = ((part, np.flatnonzero(part.rows == row).tolist()) for part in self.parts)
        return next((part, place) for part, found in places for place in found)

    def release(self, part: _Part) -> None:
        """Drop a part, and the held data with the last one: a batch shares the memory of its whole frame."""
        self.parts.remove(part)
        if not self.parts:
            self.held = None

    def recall(self, lowest: dict[int, int], waiting: Any) -> Any:
        """Mark records of some queues from a number on as unsent; return all to send, merged with ``waiting``."""
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
    """Records whose position was already reported as committable."""


@dataclass
class _Queue:
    """Submitted records of one source partition that are not yet committable to the end."""

    partition: Any
    parts: deque[_Part] = field(default_factory=deque)
    offset: str | None = None
    """The last committable offset not yet reported."""

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

    Records have sequence numbers that ascend over the whole task. ``acknowledge`` may come in any order; a source
    partition's committable offset is that of the last record before its first unacknowledged one (Kafka's
    ``SubmittedRecords``). Records without a source partition or offset are tracked and never committed.
    """

    _next: int = 0
    _spans: deque[_Span] = field(default_factory=deque)
    _queues: dict[str, _Queue] = field(default_factory=dict)

    @property
    def pending(self) -> int:
        """Return the number of unacknowledged records."""
        return sum(span.left for span in self._spans)

    @property
    def is_drained(self) -> bool:
        """Return whether ``committable`` has returned the last offset of everything submitted."""
        return not self._queues

    def submit(self, records: Sequence[SourceRows], written: Any, held: Any = None) -> int:
        """Add the records of a poll and return the first's sequence number.

        ``written`` is a boolean numpy array of the records that will be acknowledged; the others were dropped and
        count as done. ``held`` is kept until the positions of all are committable, because they may have to be sent
        again until then.
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
        """Mark records, given by their sequence numbers, as written; repeated calls have no effect."""
        self._mark(sequences, is_over=False)

    def give_up(self, sequences: Any) -> None:
        """Mark refused records as skipped: they count as done and are not sent again."""
        self._mark(sequences, is_over=True)

    def recall(self, sequences: Any, waiting: Any) -> list[tuple[int, Any, Any]]:
        """Return what to send so that these records are written in order: first number, ``held`` and numbers per span.

        To be called while nothing is in flight. For each affected source partition that is everything from its first
        refused record on, including what was acknowledged since: that counts as unacknowledged again, because only its
        next write is in order (invariant 4). Records that are ``waiting`` for their first send are merged in by
        number, whatever their source partition.
        """
        lowest: dict[int, int] = {}
        for number, owner in zip(sequences.tolist(), self._owners(sequences).tolist()):
            part, _ = self._spans[owner].part_of(number - self._spans[owner].first)
            queue = id(part.queue)
            lowest[queue] = min(number, lowest.get(queue, number))
        recalled = [(span.first, span.held, span.recall(lowest, waiting)) for span in self._spans]
        return [each for each in recalled if len(each[2])]

    def find(self, sequence: int) -> tuple[Any, int, Any, Any]:
        """Return what is held for an unacknowledged record, its row in that, and its source partition and offset."""
        span = self._spans[int(self._owners(np.array([sequence]))[0])]
        row = sequence - span.first
        part, place = span.part_of(row)
        offset = part.offsets[place].as_py()
        return span.held, row, part.queue.partition, None if offset is None else json.loads(offset)

    def committable(self) -> list[tuple[Any, Any]]:
        """Return the source partitions with offsets that became committable since the last call."""
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
    """Return the rows of each source partition in order, with a text key for the partition."""
    groups: dict[str, list[SourceRows]] = {}
    keys: dict[str, str] = {}
    for each in records:
        written = repr(each.partition)
        if (key := keys.get(written)) is None:
            # equal, whatever the order of the partition's fields
            key = keys[written] = json.dumps(each.partition, sort_keys=True)
        groups.setdefault(key, []).append(each)
    return [(key, _ordered(own) if len(own) > 1 else own[0]) for key, own in groups.items()]


def _ordered(records: Sequence[SourceRows]) -> SourceRows:
    rows = np.concatenate([each.rows for each in records])
    order = np.argsort(rows)
    offsets = pa.concat_arrays([each.offsets for each in records]).take(pa.array(order))
    return SourceRows(records[0].partition, offsets, rows[order])
