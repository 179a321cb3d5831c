"""Parses the headers of fetched messages from librdkafka's memory, for all rows at once.

A message's headers are one block in Kafka's format 2: their count, then for each the length and bytes of its name and
the length and bytes of its value, -1 for none. Numbers are variable-length zigzag (KIP-82).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.c_memory import IS_COMPILED, contiguous, gather
from hearth_api.layout import address_of
from hearth_execution.raw_header import raw_lists

if IS_COMPILED:
    from hearth.kafka.memory_loops import count_headers, find_headers


@dataclass(frozen=True)
class Places:
    """Where the headers of blocks are: counts per block, addresses and sizes of all names and values.

    A null value has address 0. ``are_alike``: all rows have the same names as the first.
    """

    counts: Any
    names: tuple[Any, Any]
    values: tuple[Any, Any]
    are_alike: bool


def headers_in(addresses: Any, sizes: Any) -> Any:
    """Return the headers in the blocks at these addresses as a raw column; a block of size 0 has none.

    Returns ``None`` for a malformed block, and without the compiled loop: the library reads each message's headers.
    """
    if not IS_COMPILED or (found := _places(contiguous(addresses), contiguous(sizes))) is None:
        return None
    ends = pa.array(np.concatenate(([0], np.cumsum(found.counts))), pa.int32())
    return raw_lists(ends, _names(found), gather(*found.values))


def _places(blocks: Any, sizes: Any) -> Places | None:
    """Find the headers in all blocks; ``None`` for a malformed block."""
    counts, rows = np.empty(len(blocks), np.int64), (address_of(blocks), address_of(sizes), len(blocks))
    total = count_headers(*rows, address_of(counts))
    if total < 0:
        return None
    found = np.empty((4, total), np.int64)
    alike = find_headers(*rows, address_of(counts), *map(address_of, found))
    return None if alike < 0 else Places(counts, (found[0], found[1]), (found[2], found[3]), bool(alike))


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
