"""Headers of fetched messages, parsed from librdkafka's memory for all rows at once.

In a message they are one block of Kafka's format 2: their number, then for each the length and bytes of its name and
the length and bytes of its value, -1 for none. Numbers are of variable length, zigzag (KIP-82).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.c_memory import gather, gather_nullable
from hearth_execution.raw_header import common_length, raw_lists

_LONGEST = 5
"""Bytes of the longest number of 32 bits."""
_SHORT = np.array([number >> 1 ^ -(number & 1) for number in range(128)])
"""What numbers of one byte stand for, which nearly all are."""


def headers_in(addresses: Any, sizes: Any) -> Any:
    """Return the headers in the blocks at these addresses as a raw column; a block of size 0 has none.

    Returns ``None`` where a block is not what it should be: the library knows what that means.
    """
    block = gather(addresses[sizes > 0], sizes[sizes > 0])
    if len(block) == 0:
        return None
    data = np.frombuffer(block.buffers()[2], np.uint8)
    ends = np.cumsum(sizes)
    try:
        parts = _Blocks(data, ends - sizes, ends).headers()
    except IndexError:
        return None
    if parts is None:
        return None
    base = block.buffers()[2].address
    counts, (name_at, name_size, value_at, value_size) = parts
    names = _names(data, base, name_at, name_size, common_length(counts))
    values = gather_nullable(np.where(value_size < 0, 0, base + value_at), np.maximum(value_size, 0))
    return raw_lists(pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32()), names, values)


class _Blocks:
    """Reads blocks side by side: the first header of each, then the second, and so on."""

    def __init__(self, data: Any, starts: Any, ends: Any) -> None:
        self._data, self._at, self._ends = data, starts.copy(), ends

    def headers(self) -> tuple[Any, Any] | None:
        """Return how many each has, and where the names and values of all are and how long; ``None`` for nonsense."""
        rows = _chosen(self._ends > self._at)
        counts = np.zeros(len(self._at), np.int64)
        counts[rows] = self._numbers(rows)
        if (counts < 0).any() or int(counts.sum()) > len(self._data):
            return None
        found = []
        for number in range(int(counts.max(initial=0))):
            rows = _chosen(counts > number)
            found.append((rows, *self._pieces(rows, least=0), *self._pieces(rows, least=-1)))
        if (self._at != self._ends).any():
            return None
        return counts, self._in_order(found)

    def _pieces(self, rows: Any, least: int) -> tuple[Any, Any]:
        """Return where the next piece of each row is, and its length; raises ``IndexError`` where it cannot be."""
        sizes = self._numbers(rows)
        places = self._at[rows].copy()
        after = places + np.maximum(sizes, 0)
        if (sizes < least).any() or (after > self._ends[rows]).any():
            raise IndexError
        self._at[rows] = after
        return places, sizes

    def _numbers(self, rows: Any) -> Any:
        """Return the next number of each row."""
        places = self._at[rows].copy()
        bytes_ = self._data[places]
        places += 1
        longer = np.flatnonzero(bytes_ > 0x7F)
        if len(longer) == 0:
            self._at[rows] = places
            return _SHORT[bytes_]
        numbers, shift = bytes_.astype(np.int64) & 0x7F, 7
        while len(longer):
            if shift > 7 * _LONGEST:
                raise IndexError
            more = self._data[places[longer]].astype(np.int64)
            numbers[longer] |= (more & 0x7F) << shift
            places[longer] += 1
            longer, shift = longer[(more & 0x80) != 0], shift + 7
        self._at[rows] = places
        return (numbers >> 1) ^ -(numbers & 1)

    @staticmethod
    def _in_order(found: list[Any]) -> Any:
        """Return the columns of all headers, row by row as the lists hold them."""
        if not found:
            return (np.empty(0, np.int64),) * 4
        chosen, *parts = zip(*found)
        if all(rows is _ALL for rows in chosen):
            return [np.stack(part, axis=1).ravel() for part in parts]
        present = np.arange(len(found[0][1])) if chosen[0] is _ALL else chosen[0]
        rows, *columns = (
            np.concatenate(part) for part in ([present if rows is _ALL else rows for rows in chosen], *parts)
        )
        order = np.argsort(rows, kind="stable")
        return [column[order] for column in columns]


_ALL = slice(None)


def _chosen(mask: Any) -> Any:
    """Return the rows of a mask; all of them as what numpy need not look up one by one."""
    return _ALL if mask.all() else np.flatnonzero(mask)


def _names(data: Any, base: int, at: Any, sizes: Any, width: int) -> Any:
    """Return the names of all headers; nearly always every row has the same, ``width`` of them."""
    count = len(at)
    if width:
        whole = [_common(data, at[number::width], sizes[number::width]) for number in range(width)]
        if None not in whole:
            return _repeated(1 << (count // width).bit_length(), *whole).slice(0, count)
    return _texts(gather(base + at, sizes))


def _common(data: Any, at: Any, sizes: Any) -> bytes | None:
    """Return the bytes that are at all of these places, or ``None`` where they differ."""
    size = int(sizes[0])
    if (sizes != size).any():
        return None
    found = np.lib.stride_tricks.sliding_window_view(data, size)[at] if size else np.empty((len(at), 0), np.uint8)
    return found[0].tobytes() if (found == found[0]).all() else None


@lru_cache(maxsize=16)
def _repeated(count: int, *names: bytes) -> Any:
    """Return names again and again, so many times."""
    return _texts(pa.array(names * count, pa.large_binary()))


def _texts(names: Any) -> Any:
    """Return names as texts; Kafka's are UTF-8, and what is not is read with marks in the places of its errors."""
    try:
        return names.cast(pa.large_string()).cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.decode("utf-8", "replace") for name in names.to_pylist()], pa.string())
