"""Positions of a source task: which offsets may be committed, and what must be sent again for their sake.

This is the one place that keeps invariant 2 for sources: a position never passes a record that is not acknowledged.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class _Span:
    """Consecutive records of one source partition, with what must stay in memory until their position is known."""

    queue: _Queue
    first: int
    offsets: Any
    done: Any
    over: Any
    """Records that will not be sent, again or at all: dropped before, or given up."""
    held: Any
    left: int = 0
    passed: int = 0
    """Records whose position was told as committable."""

    def count(self) -> None:
        """Count the records that are left; where none is, the queue may have come further."""
        self.left = len(self.done) - int(np.count_nonzero(self.done))
        if self.left == 0:
            self.queue.advance()

    def release(self) -> None:
        """Let go of what was held: a batch shares the memory of the whole frame it came in."""
        self.held = self.offsets = None

    def recall(self, lowest: int) -> Any:
        """Take back what is done from a record on; return all records to be sent, those never sent among them."""
        again = ~self.done
        again[max(0, lowest - self.first) :] = True
        again &= ~self.over
        self.done[again] = False
        self.count()
        return self.first + np.flatnonzero(again)


@dataclass
class _Queue:
    """What was submitted of one source partition and is not committable to its end."""

    partition: Any
    spans: deque[_Span] = field(default_factory=deque)
    offset: str | None = None
    """The last committable offset that was not told yet."""

    def advance(self) -> None:
        """Drop finished spans from the front and note the last offset before the first gap."""
        while self.spans:
            span = self.spans[0]
            end = len(span.done) if span.left == 0 else int(np.argmin(span.done))
            known = span.offsets.slice(span.passed, end - span.passed).drop_null()
            self.offset = known[-1].as_py() if len(known) else self.offset
            span.passed = end
            if span.left:
                return
            self.spans.popleft().release()


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

    def submit(self, partition: Any, offsets: Any, written: Any = None, held: Any = None) -> int:
        """Take in records of one source partition, in order, and return the first's sequence number.

        ``offsets`` is an Arrow array of JSON text, one per record. ``written`` marks, as a boolean numpy array, the
        records that will be acknowledged; the others were dropped and count as done. ``held`` is kept until their
        position is committable, because until then they may have to be sent again.
        """
        key = json.dumps(partition, sort_keys=True)  # the same partition, in whatever order a record names its parts
        queue = self._queues.setdefault(key, _Queue(partition))
        over = np.zeros(len(offsets), np.bool_) if written is None else ~written
        span = _Span(queue, self._next, offsets, over.copy(), over, held)
        self._next += len(offsets)
        self._spans.append(span)
        queue.spans.append(span)
        span.count()
        return span.first

    def acknowledge(self, sequences: Any) -> None:
        """Mark records, given by their sequence numbers, as written; what is marked already stays so."""
        self._mark(sequences, is_over=False)

    def give_up(self, sequences: Any) -> None:
        """Mark records as skipped for their own sake: they count as done and are not sent again."""
        self._mark(sequences, is_over=True)

    def recall(self, sequences: Any) -> list[tuple[int, Any, Any]]:
        """Return what to send so that these records come again in order: first number, ``held`` and numbers by span.

        To be asked while nothing is on its way. Of each source partition concerned that is everything from the first
        of these records on, also what was acknowledged since: it counts as unacknowledged again, for only its next
        acknowledgement comes in order (invariant 4).
        """
        lowest: dict[int, int] = {}
        for number, owner in zip(sequences.tolist(), self._owners(sequences).tolist()):
            queue = id(self._spans[owner].queue)
            lowest[queue] = min(number, lowest.get(queue, number))
        concerned = [span for span in self._spans if id(span.queue) in lowest]
        recalled = [(span.first, span.held, span.recall(lowest[id(span.queue)])) for span in concerned]
        return [each for each in recalled if len(each[2])]

    def find(self, sequence: int) -> tuple[Any, int, Any, Any]:
        """Return what is held for a record that is not acknowledged, its row in that, and where it was read."""
        span = self._spans[int(self._owners(np.array([sequence]))[0])]
        row = sequence - span.first
        offset = span.offsets[row].as_py()
        return span.held, row, span.queue.partition, None if offset is None else json.loads(offset)

    def committable(self) -> list[tuple[Any, Any]]:
        """Return source partitions with offsets that became committable since the last call."""
        found = []
        for key, queue in list(self._queues.items()):
            queue.advance()
            if queue.offset is not None and queue.partition is not None:
                found.append((queue.partition, json.loads(queue.offset)))
            queue.offset = None
            if not queue.spans:
                del self._queues[key]
        return found

    def _owners(self, sequences: Any) -> Any:
        firsts = np.fromiter((span.first for span in self._spans), np.int64, len(self._spans))
        return np.searchsorted(firsts, sequences, side="right") - 1

    def _mark(self, sequences: Any, *, is_over: bool) -> None:
        owners = self._owners(sequences)
        for owner in np.unique(owners[owners >= 0]).tolist():
            span = self._spans[owner]
            rows = sequences[owners == owner] - span.first
            span.done[rows] = True
            if is_over:
                span.over[rows] = True
            span.count()
        while self._spans and self._spans[0].left == 0:
            self._spans.popleft()
