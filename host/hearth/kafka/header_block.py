"""Headers of fetched messages, parsed from librdkafka's memory for all rows at once.

In a message they are one block of Kafka's format 2: their number, then for each the length and bytes of its name and
the length and bytes of its value, -1 for none. Numbers are of variable length, zigzag (KIP-82).
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.c_memory import gather, gather_nullable
from hearth_execution.raw_header import raw_lists

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
    for read in (_of_one_shape, _of_any_shape):
        with suppress(IndexError):
            if (found := read(data, ends - sizes, ends)) is not None:
                return _column(data.ctypes.data, *found)
    return None


def _column(base: int, counts: Any, names: Any, value_at: Any, value_size: Any) -> Any:
    """Return the raw column of headers: how many each row has, the names of all, and where their values are."""
    values = gather_nullable(np.where(value_size < 0, 0, base + value_at), np.maximum(value_size, 0))
    return raw_lists(pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32()), names, values)


def _of_one_shape(data: Any, starts: Any, ends: Any) -> tuple[Any, ...] | None:
    """Read blocks that differ in nothing but their values, as those of nearly every topic do.

    What is between the values of the first block is compared with the others. Returns ``None`` where one differs.
    """
    between, names = _shape(data[: ends[0]].tobytes())
    at, values = starts, []
    for same in between:
        windows: Any = np.ndarray((len(data) - len(same) + 1,), f"V{len(same)}", data, strides=(1,))
        if (windows[at] != np.void(same)).any():
            return None
        place, size = _pieces(data, at + len(same), ends, least=-1)
        values.append((place, size))
        at = place + np.maximum(size, 0)
    if (at != ends).any():
        return None
    count, width = len(starts), len(names)
    column = _repeated(1 << count.bit_length(), *names).slice(0, count * width)
    return np.full(count, width), column, *(np.stack(part, axis=1).ravel() for part in zip(*values))


def _shape(block: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return what stands before the length of each value in a block, and the names in it."""
    count, at = _number(block, 0)
    between, names, start = [], [], 0
    for _ in range(count):
        size, at = _number(block, at)
        if size < 0:
            raise IndexError
        names.append(block[at : at + size])
        between.append(block[start : at + size])
        size, start = _number(block, at + size)
        at = start = start + max(size, 0)
    return between, names


def _number(block: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place of a block, and the place behind it."""
    number = 0
    for shift in range(0, 7 * _LONGEST, 7):
        byte = block[at]
        number |= (byte & 0x7F) << shift
        at += 1
        if byte <= 0x7F:
            return number >> 1 ^ -(number & 1), at
    raise IndexError


def _of_any_shape(data: Any, starts: Any, ends: Any) -> tuple[Any, ...] | None:
    """Read blocks side by side, the first header of each, then the second; returns ``None`` for nonsense."""
    at = starts.copy()
    counts: Any = np.zeros(len(at), np.int64)
    rows = np.flatnonzero(ends > at)
    counts[rows], at[rows] = _numbers(data, at[rows])
    if (counts < 0).any() or int(counts.sum()) > len(data):
        return None
    found: list[tuple[Any, ...]] = [(np.empty(0, np.int64),) * 5]
    for number in range(int(counts.max())):
        rows = np.flatnonzero(counts > number)
        name_at, name_size = _pieces(data, at[rows], ends[rows], least=0)
        value_at, value_size = _pieces(data, name_at + name_size, ends[rows], least=-1)
        at[rows] = value_at + np.maximum(value_size, 0)
        found.append((rows, name_at, name_size, value_at, value_size))
    if (at != ends).any():
        return None
    rows, *columns = map(np.concatenate, zip(*found))
    order = np.argsort(rows, kind="stable")
    name_at, name_size, value_at, value_size = (column[order] for column in columns)
    return counts, _texts(gather(data.ctypes.data + name_at, name_size)), value_at, value_size


def _pieces(data: Any, at: Any, ends: Any, least: int) -> tuple[Any, Any]:
    """Return where the pieces begin whose lengths stand at these places, and the lengths, ``least`` or more."""
    sizes, places = _numbers(data, at)
    if int(sizes.min()) < least or (places + np.maximum(sizes, 0) > ends).any():
        raise IndexError
    return places, sizes


def _numbers(data: Any, at: Any) -> tuple[Any, Any]:
    """Return the numbers at these places, and the places behind them."""
    bytes_, places = data[at], at + 1
    if int(bytes_.max(initial=0)) <= 0x7F:
        return _SHORT[bytes_], places
    numbers, longer, shift = bytes_.astype(np.int64) & 0x7F, np.flatnonzero(bytes_ > 0x7F), 7
    while len(longer):
        if shift > 7 * _LONGEST:
            raise IndexError
        more = data[places[longer]].astype(np.int64)
        numbers[longer] |= (more & 0x7F) << shift
        places[longer] += 1
        longer, shift = longer[(more & 0x80) != 0], shift + 7
    return (numbers >> 1) ^ -(numbers & 1), places


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
