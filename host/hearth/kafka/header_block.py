"""Parses the headers of fetched messages from librdkafka's memory, for all rows at once.

A message's headers are one block in Kafka's format 2: their count, then for each the length and bytes of its name and
the length and bytes of its value, -1 for none. Numbers are variable-length zigzag (KIP-82).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.c_memory import contiguous, gather
from hearth_api.layout import address_of
from hearth_execution.raw_header import raw_lists

try:
    from hearth.kafka.memory_loops import count_headers, find_headers
except ImportError:  # not compiled, see hatch_build
    find_headers = None  # type: ignore[assignment]

_LONGEST = 5
"""Most bytes of a 32-bit number."""
_SHORT = np.array([number >> 1 ^ -(number & 1) for number in range(128)])
"""Values of one-byte numbers, which nearly all are."""


@dataclass(frozen=True)
class Places:
    """Where the headers of blocks are: counts per block, addresses and sizes of all names and values.

    A null value has address 0. ``are_alike``: all rows have the same names as the first. ``memory`` keeps alive the
    memory that they are in, if it is a copy.
    """

    counts: Any
    names: tuple[Any, Any]
    values: tuple[Any, Any]
    are_alike: bool = False
    memory: Any = None


def headers_in(addresses: Any, sizes: Any) -> Any:
    """Return the headers in the blocks at these addresses as a raw column; a block of size 0 has none.

    Returns ``None`` for a malformed block: the library handles it.
    """
    if not sizes.any() or (found := FIND(contiguous(addresses), contiguous(sizes))) is None:
        return None
    ends = pa.array(np.concatenate(([0], np.cumsum(found.counts))), pa.int32())
    return raw_lists(ends, _names(found), gather(*found.values))


def find_by_loop(blocks: Any, sizes: Any) -> Places | None:
    """Find headers block by block, with the compiled loop; ``None`` for a malformed block."""
    counts, rows = np.empty(len(blocks), np.int64), (address_of(blocks), address_of(sizes), len(blocks))
    total = count_headers(*rows, address_of(counts))
    if total < 0:
        return None
    found = np.empty((4, total), np.int64)
    alike = find_headers(*rows, address_of(counts), *map(address_of, found))
    return None if alike < 0 else Places(counts, (found[0], found[1]), (found[2], found[3]), bool(alike))


def find_side_by_side(blocks: Any, sizes: Any) -> Places | None:
    """Find headers with numpy: the first of each block, then the second; ``None`` for a malformed block."""
    data = np.frombuffer(gather(blocks, sizes).buffers()[2], np.uint8)
    ends = np.cumsum(sizes)
    with suppress(IndexError):
        return _side_by_side(data, ends - sizes, ends)
    return None


FIND = find_by_loop if find_headers is not None else find_side_by_side


def _side_by_side(data: Any, starts: Any, ends: Any) -> Places | None:
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
    base = address_of(data)
    values = np.where(value_size < 0, 0, base + value_at), np.maximum(value_size, 0)
    return Places(counts, (base + name_at, name_size), values, memory=data)


def _pieces(data: Any, at: Any, ends: Any, least: int) -> tuple[Any, Any]:
    """Return where the pieces start whose lengths are at these places, and the lengths, ``least`` or more."""
    sizes, places = _numbers(data, at)
    if int(sizes.min()) < least or (places + np.maximum(sizes, 0) > ends).any():
        raise IndexError
    return places, sizes


def _numbers(data: Any, at: Any) -> tuple[Any, Any]:
    """Return the numbers at these places, and the places after them."""
    bytes_, places = data[at], at + 1
    if int(bytes_.max(initial=0)) <= 0x7F:
        return _SHORT[bytes_], places
    numbers, longer, shift = bytes_.astype(np.int64) & 0x7F, np.flatnonzero(bytes_ > 0x7F), 7
    while len(longer):
        if shift >= 7 * _LONGEST:
            raise IndexError
        more = data[places[longer]].astype(np.int64)
        numbers[longer] |= (more & 0x7F) << shift
        places[longer] += 1
        longer, shift = longer[(more & 0x80) != 0], shift + 7
    return (numbers >> 1) ^ -(numbers & 1), places


def _names(found: Places) -> Any:
    """Return the names of all headers as strings."""
    width = int(found.counts[0]) if found.are_alike else 0
    if not width:
        return _texts(gather(*found.names))
    rows = len(found.counts)
    own = gather(*(part[:width] for part in found.names)).to_pylist()
    return _repeated(1 << rows.bit_length(), *own).slice(0, rows * width)


@lru_cache(maxsize=16)
def _repeated(count: int, *names: bytes) -> Any:
    """Return names repeated ``count`` times."""
    return _texts(pa.array(names * count, pa.binary()))


def _texts(names: Any) -> Any:
    """Return names as strings; invalid UTF-8 gets replacement characters."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([name.decode("utf-8", "replace") for name in names.to_pylist()], pa.string())
