"""Calls of librdkafka that hand over one message each, told by arrays what a whole batch of them is about.

A call is given units (``rd_kafka_vu_t``), one for each part of its message: what part it is, and where that lies. They
are written column by column for many messages, and ctypes is given places that were prepared before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from hearth.kafka.c_memory import locate
from hearth_api.batch import repeats
from hearth_execution.raw_header import common_length, list_lengths

TOPIC, PARTITION, VALUE, KEY, OPAQUE, TIMESTAMP, HEADER = 2, 3, 4, 5, 6, 8, 9
"""Parts of a message: ``rd_kafka_vtype_t``."""

_UNIT = np.dtype([("kind", "i4"), ("_kind", "i4"), ("a", "i8"), ("b", "i8"), ("c", "i8"), ("_rest", "V40")])
_AT_ONCE = 4096
"""Units that are written before the calls are made which read them: they fit into a processor's own memory."""


class MessageUnits:
    """The units of messages that have the same parts, and so many headers at most.

    librdkafka copies what units say, so those of the next messages are written over them. Used by one thread.
    """

    def __init__(self, parts: Sequence[int], most_headers: int) -> None:
        self._parts, self._most = list(parts), most_headers
        width = len(parts) + most_headers
        self._rows = max(1, _AT_ONCE // width)
        units = np.zeros((self._rows, width), _UNIT)
        units["kind"] = [*parts, *[HEADER] * most_headers]
        self._cells = [units[name] for name in "abc"]
        memory = (ctypes.c_char * units.nbytes).from_buffer(units.data)
        self._places = [ctypes.byref(memory, row * width * _UNIT.itemsize) for row in range(self._rows)]
        self._sizes = [ctypes.c_size_t.from_param(len(parts) + count) for count in range(most_headers + 1)]

    def suit(self, parts: Sequence[int], most_headers: int) -> bool:
        """Tell whether messages with these parts, and so many headers at most, are well told with these units."""
        return self._parts == parts and most_headers <= self._most <= 2 * most_headers

    def send(
        self, produce: Callable[..., int | None], client: int, columns: Sequence[Any], headers: HeaderCells | None
    ) -> list[int | None]:
        """Make the calls and return what each returned; ``columns`` holds, by part, its arguments: numbers or arrays.

        At least one of the arguments is an array.
        """
        count = next(len(cells) for column in columns for cells in column if isinstance(cells, np.ndarray))
        own = ctypes.c_void_p.from_param(client)
        found: list[int | None] = []
        for start in range(0, count, self._rows):
            end = min(start + self._rows, count)
            self._write(columns, start, end)
            sizes: Iterator[Any] = (
                repeat(self._sizes[0]) if headers is None else self._write_headers(headers, start, end)
            )
            found += map(produce, repeat(own), self._places[: end - start], sizes)
        return found

    def _write(self, columns: Sequence[Any], start: int, end: int) -> None:
        for part, column in enumerate(columns):
            for cells, argument in zip(self._cells, column):
                cells[: end - start, part] = argument[start:end] if isinstance(argument, np.ndarray) else argument

    def _write_headers(self, headers: HeaderCells, start: int, end: int) -> Iterator[Any]:
        """Write those of some messages, and return how many units each has."""
        counts = headers.counts[start:end]
        first, last = headers.ends[start] - headers.counts[start], headers.ends[end - 1]
        behind, same = len(self._parts), int(counts[0])
        if (counts == same).all():
            for cells, argument in zip(self._cells, headers.arguments):
                cells[: end - start, behind : behind + same] = argument[first:last].reshape(end - start, same)
            return repeat(self._sizes[same])
        rows = np.repeat(np.arange(end - start), counts)
        places = np.arange(first, last) - np.repeat(headers.ends[start:end] - counts, counts) + behind
        for cells, argument in zip(self._cells, headers.arguments):
            cells[rows, places] = argument[first:last]
        return map(self._sizes.__getitem__, counts.tolist())


@dataclass(frozen=True)
class HeaderCells:
    """The headers of messages: how many each has, where those of each end among all, and what units say of them."""

    counts: Any
    ends: Any
    arguments: tuple[Any, Any, Any]
    """Addresses of names and of values, and sizes of the values."""
    names: list[Any]
    """The memory of the names."""

    @classmethod
    def of(cls, column: Any) -> HeaderCells:
        """Return those of a raw column; names, which end with a zero for librdkafka, are few."""
        counts = list_lengths(column).to_numpy()
        entries = column.flatten()
        keys, width = entries.field("key"), common_length(counts)
        if width and repeats(keys, width):
            different, indices = keys.slice(0, width), np.tile(np.arange(width), len(counts))
        else:
            encoded = keys.dictionary_encode()
            different, indices = encoded.dictionary, encoded.indices.to_numpy()
        names = [ctypes.create_string_buffer(key.encode()) for key in different.to_pylist()]
        addresses = np.array([ctypes.addressof(name) for name in names], np.int64)
        return cls(counts, np.cumsum(counts), (addresses[indices], *locate(entries.field("value"))), names)

    @property
    def most(self) -> int:
        """Return the most headers that a message has."""
        return int(self.counts.max(initial=0))
