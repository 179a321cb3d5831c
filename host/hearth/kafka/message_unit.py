"""Calls of librdkafka that send one message each, with arguments prepared as arrays for a whole batch.

A call receives units (``rd_kafka_vu_t``), one for each part of its message: the kind of part, and its address. They
are written column by column for many messages. The compiled loop makes the calls without the interpreter lock.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hearth.kafka.c_memory import locate
from hearth_api.batch import repeats
from hearth_execution.raw_header import common_length, list_lengths

try:
    from hearth.kafka.produce_calls import produce_each
except ImportError:  # not compiled, see hatch_build
    produce_each = None  # type: ignore[assignment]

IS_COMPILED = produce_each is not None

TOPIC, PARTITION, VALUE, KEY, OPAQUE, TIMESTAMP, HEADER = 2, 3, 4, 5, 6, 8, 9
"""Parts of a message: ``rd_kafka_vtype_t``."""

_UNIT = np.dtype([("kind", "i4"), ("_kind", "i4"), ("a", "i8"), ("b", "i8"), ("c", "i8"), ("_rest", "V40")])
_AT_ONCE = 4096
"""Units written before the calls that read them: they fit into the processor's cache."""


class MessageUnits:
    """The units of messages with the same parts, and at most ``most_headers`` headers.

    librdkafka copies the units, so those of the next messages overwrite them. Used by one thread.
    """

    def __init__(self, parts: Sequence[int], most_headers: int) -> None:
        self._parts = parts
        width = len(parts) + most_headers
        self._rows = max(1, _AT_ONCE // width)
        units = np.zeros((self._rows, width), _UNIT)
        units["kind"] = [*parts, *[HEADER] * most_headers]
        self._cells = [units[name] for name in "abc"]
        self._units = units

    def send(
        self, produce: Callable[..., int | None], client: int, columns: Sequence[Any], headers: HeaderCells | None
    ) -> Any:
        """Make the calls and return their results: an array of addresses, 0 for an accepted message.

        ``columns`` holds the arguments of each part: numbers or arrays. At least one argument is an array.
        """
        count = next(len(cells) for column in columns for cells in column if isinstance(cells, np.ndarray))
        returned = np.zeros(count, np.int64)
        for start in range(0, count, self._rows):
            end = min(start + self._rows, count)
            self._write(columns, start, end)
            sizes = np.full(end - start, len(self._parts))
            if headers is not None:
                self._write_headers(headers, start, end)
                sizes += headers.counts[start:end]
            self._call(produce, client, sizes, returned[start:end])
        return returned

    def _call(self, produce: Callable[..., int | None], client: int, sizes: Any, returned: Any) -> None:
        """Call for the first rows of units, ``sizes`` units each; write the results to ``returned``."""
        units, stride = self._units.ctypes.data, self._units.strides[0]
        if not IS_COMPILED:
            rows = enumerate(sizes.tolist())
            returned[:] = [produce(client, units + row * stride, size) or 0 for row, size in rows]
            return
        function = ctypes.cast(produce, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
        produce_each(function, client, units, sizes.ctypes.data, returned.ctypes.data, stride, len(sizes))

    def _write(self, columns: Sequence[Any], start: int, end: int) -> None:
        for part, column in enumerate(columns):
            for cells, argument in zip(self._cells, column):
                cells[: end - start, part] = argument[start:end] if isinstance(argument, np.ndarray) else argument

    def _write_headers(self, headers: HeaderCells, start: int, end: int) -> None:
        counts = headers.counts[start:end]
        first, last = headers.ends[start] - headers.counts[start], headers.ends[end - 1]
        behind, same = len(self._parts), int(counts[0])
        if (counts == same).all():
            for cells, argument in zip(self._cells, headers.arguments):
                cells[: end - start, behind : behind + same] = argument[first:last].reshape(end - start, same)
            return
        rows = np.repeat(np.arange(end - start), counts)
        places = np.arange(first, last) - np.repeat(headers.ends[start:end] - counts, counts) + behind
        for cells, argument in zip(self._cells, headers.arguments):
            cells[rows, places] = argument[first:last]


@dataclass(frozen=True)
class HeaderCells:
    """The headers of messages: counts, end positions among all headers, and unit arguments."""

    counts: Any
    ends: Any
    arguments: tuple[Any, Any, Any]
    """Addresses of names and of values, and sizes of the values."""
    names: list[Any]
    """The memory of the names."""

    @classmethod
    def of(cls, column: Any) -> HeaderCells:
        """Return the headers of a raw column; distinct names, which librdkafka needs zero-terminated, are few."""
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
        """Return the most headers of one message."""
        return int(self.counts.max(initial=0))
