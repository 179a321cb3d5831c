"""Rows on their way to a producer."""

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
"""Kafka's word for a record whose time the producer's clock says."""


@dataclass(frozen=True)
class Outgoing:
    """Rows for one topic, or for several, those of each behind those of another.

    ``value`` and ``key`` are Arrow ``binary`` arrays (null = no value), ``partition`` an int32 array with -1 where the
    partitioner chooses, ``timestamp`` an int64 array of milliseconds with -1 where the producer's clock counts,
    ``headers`` a raw column of them (see ``raw_header``). Everything but ``value`` may be missing. ``spans`` are
    several topics with where the rows of each begin and end; ``topic`` has no meaning then.
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
        """Return each topic, and where its rows begin and end."""
        return self.spans or ((self.topic, 0, len(self.value)),)

    @cached_property
    def size(self) -> int:
        """Return the bytes of all values and keys."""
        return content_size(self.value) + (0 if self.key is None else content_size(self.key))

    def slice(self, start: int, end: int, topic: str | None = None) -> Outgoing:
        """Return some consecutive rows, which are for one topic."""
        own = (self.value, self.key, self.partition, self.timestamp, self.headers)
        value, key, partition, timestamp, headers = (None if column is None else column[start:end] for column in own)
        return Outgoing(self.topic if topic is None else topic, value, key, partition, timestamp, headers)

    def take(self, places: Any) -> Outgoing:
        """Return the rows for one topic in these places, a numpy array of integers, in that order."""
        indices = pa.array(places)
        partition, timestamp = (None if each is None else each[places] for each in (self.partition, self.timestamp))
        key, headers = (None if each is None else each.take(indices) for each in (self.key, self.headers))
        return Outgoing(self.topic, self.value.take(indices), key, partition, timestamp, headers)

    @classmethod
    def join(cls, parts: Sequence[Outgoing]) -> Outgoing:
        """Return rows for one topic that come in several parts, one behind the other."""
        return cls(
            parts[0].topic,
            pa.concat_arrays([part.value for part in parts]),
            _joined(parts, "key", lambda count: pa.nulls(count, pa.binary()), pa.concat_arrays),
            _joined(parts, "partition", lambda count: np.full(count, PARTITION_ANY, np.int32), np.concatenate),
            _joined(parts, "timestamp", lambda count: np.full(count, NO_TIMESTAMP, np.int64), np.concatenate),
            _joined(parts, "headers", lambda count: raw_column([[]] * count), pa.concat_arrays),
        )


def apart(parts: Iterable[tuple[Outgoing, Any]]) -> Iterator[tuple[Outgoing, Any]]:
    """Yield rows and their numbers for one topic after the other."""
    for outgoing, numbers in parts:
        if not outgoing.spans:
            yield outgoing, numbers
        for topic, start, end in outgoing.spans:
            yield outgoing.slice(start, end, topic), numbers[start:end]


def _joined(
    parts: Sequence[Outgoing], name: str, blank: Callable[[int], Any], join: Callable[[list[Any]], Any]
) -> Any:
    """Return a column of several parts, blank in those that lack it; ``None`` where all do."""
    columns = [getattr(part, name) for part in parts]
    if all(own is None for own in columns):
        return None
    return join([blank(len(part.value)) if own is None else own for part, own in zip(parts, columns)])
