"""Positions of a source task: which offsets may be committed.

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
    """Consecutive records of one source partition, with what must stay in memory until they are written."""

    first: int
    offsets: Any
    done: Any
    left: int
    held: Any = None


@dataclass
class SubmittedPositions:
    """Every record handed to the producer and not yet committed, in order per source partition.

    Records carry sequence numbers that count up over the whole task. ``acknowledge`` may come in any order; a
    source partition's committable offset is that of the last record before its first unacknowledged one (Kafka's
    ``SubmittedRecords``). Records without a source partition or offset are tracked and never committed.
    """

    _next: int = 0
    _spans: deque[_Span] = field(default_factory=deque)
    _queues: dict[str, deque[_Span]] = field(default_factory=dict)
    _committable: dict[str, Any] = field(default_factory=dict)

    @property
    def pending(self) -> int:
        """Return the number of records that wait for their acknowledgement."""
        return sum(span.left for span in self._spans)

    def submit(self, partition: Any, offsets: Any, written: Any = None, held: Any = None) -> int:
        """Take in records of one source partition, in order, and return the first's sequence number.

        ``offsets`` is an Arrow array of JSON text, one per record. ``written`` marks, as a boolean numpy array, the
        records that will be acknowledged; the others were dropped and count as done. ``held`` is kept until all are.
        """
        count = len(offsets)
        done = np.zeros(count, np.bool_) if written is None else ~written
        span = _Span(self._next, offsets, done, count - int(done.sum()), held)
        self._next += count
        self._spans.append(span)
        key = json.dumps(partition, separators=(",", ":"), ensure_ascii=False)
        self._queues.setdefault(key, deque()).append(span)
        return span.first

    def acknowledge(self, sequences: Any) -> None:
        """Mark records, given by their sequence numbers, as written."""
        if len(sequences) == 0:
            return
        firsts = np.fromiter((span.first for span in self._spans), np.int64, len(self._spans))
        owners = np.searchsorted(firsts, sequences, side="right") - 1
        for owner in np.unique(owners).tolist():
            span = self._spans[owner]
            mine = sequences[owners == owner] - span.first
            span.left -= int(np.count_nonzero(~span.done[mine]))
            span.done[mine] = True
            if span.left == 0:
                span.held = None
        while self._spans and self._spans[0].left == 0:
            self._spans.popleft()

    def committable(self) -> list[tuple[Any, Any]]:
        """Return source partitions with offsets that became committable since the last call."""
        found: dict[str, Any] = {}
        for key, queue in list(self._queues.items()):
            offset = _advance(queue)
            if offset is not None:
                found[key] = offset
            if not queue:
                del self._queues[key]
        return [(json.loads(key), json.loads(offset)) for key, offset in found.items() if key != "null"]


def _advance(queue: deque[_Span]) -> str | None:
    """Drop finished spans from the front and return the last offset before the first gap."""
    offset: str | None = None
    while queue:
        span = queue[0]
        prefix = len(span.done) if span.left == 0 else int(np.argmin(span.done))
        if prefix:
            found = span.offsets[prefix - 1].as_py()
            offset = found if found is not None else offset
        if span.left:
            return offset
        queue.popleft()
    return offset
