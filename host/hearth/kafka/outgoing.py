"""Rows for a producer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.c_memory import content_size
from hearth.kafka.library import PARTITION_ANY
from hearth_execution.raw_header import raw_column

NO_TIMESTAMP = -1
"""Timestamp of a record that gets the producer's time."""


@dataclass(frozen=True)
class Outgoing:
    """Rows for one topic, or for several, grouped by topic.

    ``value`` and ``key`` are Arrow ``binary`` arrays (null = no value), ``partition`` an int32 array with -1 where the
    partitioner chooses, ``timestamp`` an int64 array of milliseconds with -1 for the producer's time, ``headers`` a
    raw column (see ``raw_header``). All but ``value`` are optional. ``spans`` lists several topics with the start and
    end of their rows; ``topic`` is unused then.
    """

    topic: str
    value: Any
    key: Any = None
    partition: Any = None
    timestamp: Any = None
    headers: Any = None
    spans: Sequence[tuple[str, int, int]] = ()

    @property
    def by_topic(self) -> Sequence[tuple[str, int, int]]:
        """Return each topic with the start and end of its rows."""
        return self.spans or ((self.topic, 0, len(self.value)),)

    @cached_property
    def size(self) -> int:
        """Return the bytes of all values and keys."""
        return content_size(self.value) + (0 if self.key is None else content_size(self.key))

    def slice(self, start: int, end: int, topic: str | None = None) -> Outgoing:
        """Return consecutive rows, which are for one topic."""
        own = (self.value, self.key, self.partition, self.timestamp, self.headers)
        value, key, partition, timestamp, headers = (None if column is None else column[start:end] for column in own)
        return Outgoing(self.topic if topic is None else topic, value, key, partition, timestamp, headers)

    def take(self, places: Any) -> Outgoing:
        """Return the rows at these places, a numpy array of integers, in that order; for one topic."""
        indices = pa.array(places)
        partition, timestamp = (None if each is None else each[places] for each in (self.partition, self.timestamp))
        key, headers = (None if each is None else each.take(indices) for each in (self.key, self.headers))
        return Outgoing(self.topic, self.value.take(indices), key, partition, timestamp, headers)

    @classmethod
    def join(cls, parts: Sequence[Outgoing]) -> Outgoing:
        """Concatenate parts for the same topic."""
        return cls(
            parts[0].topic,
            pa.concat_arrays([part.value for part in parts]),
            _joined(parts, "key", lambda count: pa.nulls(count, pa.binary()), pa.concat_arrays),
            _joined(parts, "partition", lambda count: np.full(count, PARTITION_ANY, np.int32), np.concatenate),
            _joined(parts, "timestamp", lambda count: np.full(count, NO_TIMESTAMP, np.int64), np.concatenate),
            _joined(parts, "headers", lambda count: raw_column([[]] * count), pa.concat_arrays),
        )


def apart(parts: Iterable[tuple[Outgoing, Any]]) -> Iterator[tuple[Outgoing, Any]]:
    """Yield rows and their numbers, split by topic."""
    for outgoing, numbers in parts:
        if not outgoing.spans:
            yield outgoing, numbers
        for topic, start, end in outgoing.spans:
            yield outgoing.slice(start, end, topic), numbers[start:end]


def _joined(
    parts: Sequence[Outgoing], name: str, blank: Callable[[int], Any], join: Callable[[list[Any]], Any]
) -> Any:
    """Concatenate a column of several parts, blank in those that lack it; ``None`` if all do."""
    columns = [getattr(part, name) for part in parts]
    if all(own is None for own in columns):
        return None
    return join([blank(len(part.value)) if own is None else own for part, own in zip(parts, columns)])
