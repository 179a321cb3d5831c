"""Decodes bytes to columns: many rows are read at once, each with its own cursor.

A truncated payload is detected by a cursor past its end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api.layout import address_of, copied, number_type
from hearth_registry.payload_block import UnsuitedError

_SPARE = 16
"""Padding after the last row for reads by a cursor that has passed its end."""
_STOPS = np.uint64(0x8080808080808080)
_ONE, _LOW = np.uint64(1), np.uint64(0x7F)
_MERGES = [
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
]
"""Steps that compact bit groups of adjacent bytes: the mask to keep, the mask to shift, the shift."""


class Rows:
    """Rows being read, each with its position in the shared bytes."""

    def __init__(self, source: Source, at: Any) -> None:
        """Start at the given positions, one per row."""
        self.source = source
        self.at = at

    def __len__(self) -> int:
        return len(self.at)

    def part(self, mask: Any) -> Rows:
        """Return a subset of the rows; `join` copies its positions back after reading."""
        return Rows(self.source, self.at[mask])

    def join(self, mask: Any, part: Rows) -> None:
        """Take over the positions of a subset."""
        self.at[mask] = part.at


class Source:
    """The bytes of all rows."""

    def __init__(self, content: Any) -> None:
        """Set the numpy array of bytes."""
        self.size = len(content)
        self.content = np.concatenate([content, np.zeros(_SPARE, np.uint8)])
        # The 64-bit number starting at each byte. Use indexing, since `take` would copy all of them first.
        self.words: Any = np.ndarray(self.size + _SPARE - 8 + 1, "<u8", self.content, strides=(1,))
        self.doubles: Any = np.ndarray(self.size + _SPARE - 8 + 1, "<f8", self.content, strides=(1,))
        self.floats: Any = np.ndarray(self.size + _SPARE - 8 + 1, "<f4", self.content, strides=(1,))


def unsigned(rows: Rows, most: int) -> Any:
    """Read varints into an array of 64-bit numbers; one longer than `most` bytes is invalid."""
    source, at = rows.source, rows.at
    first = source.content.take(at, mode="clip")
    if not len(first) or first.max() < 0x80:
        rows.at = at + 1
        return first.astype(np.uint64)
    words = source.words[np.minimum(at, source.size)]
    stops = ~words & _STOPS
    below = stops ^ (stops - _ONE)  # all bits up to the first byte that is the last of its number
    sizes = np.bitwise_count(below).astype(np.int64) >> 3
    is_long = stops == 0
    words &= below & ~_STOPS
    for stay, move, shift in _MERGES:
        words = (words & stay) | ((words & move) >> shift)
    if is_long.any():
        _add_last(source, at, is_long, words, sizes)
    if sizes.max() > most:
        raise UnsuitedError
    rows.at = at + sizes
    return words


def _add_last(source: Source, at: Any, is_long: Any, words: Any, sizes: Any) -> None:
    """Add the ninth and tenth byte to numbers that have them."""
    places = at[is_long]
    ninth, tenth = (source.content.take(places + number, mode="clip").astype(np.uint64) for number in (8, 9))
    has_tenth = ninth > _LOW
    if (has_tenth & (tenth > _LOW)).any():
        raise UnsuitedError
    words[is_long] |= ((ninth & _LOW) << np.uint64(56)) | np.where(has_tenth, tenth << np.uint64(63), np.uint64(0))
    sizes[is_long] = np.where(has_tenth, 10, 9)


def spans(rows: Rows, sizes: Any) -> Any:
    """Return bytes of the given sizes as a binary column; their total may not exceed that of all rows."""
    starts = rows.at
    rows.at = ends = starts + sizes
    if len(ends) and (ends.max() > rows.source.size or sizes.sum() > rows.source.size):
        raise UnsuitedError
    edges = np.empty(2 * len(sizes) + 1, np.int32)
    edges[:-1:2], edges[1::2] = starts, ends
    return copied(address_of(rows.source.content), edges, int(sizes.sum()))


def scattered(values: Any, present: Any, type_: Any) -> Any:
    """Spread the values of present rows over all rows."""
    if pa.types.is_integer(type_) or pa.types.is_floating(type_):
        spread = np.zeros(len(present), number_type(type_))
        if not values.null_count:
            spread[present] = values.to_numpy()
            return pa.array(spread, type_, mask=~present)
    places = np.cumsum(present) - 1
    return values.take(pa.array(places, mask=~present))
