"""Quick looks through the bytes of many JSON texts, to know what they cannot hold before anything slow is done.

All answers err on one side: a True says that a slower and exact check is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hearth_api.layout import memory
from hearth_json.depth import MOST_LEVELS

# Pieces of this size stay in the processor's cache with the arrays made from them.
_PIECE = 1 << 16
_LONGEST_RUN = 19
MAY_BE_DEEP = MOST_LEVELS - 1
"""A shorter JSON text than this is not nested too deep for Jackson, also as a payload, nor has too long a number."""


def may_hold_odd_number(content: Any) -> bool:
    """Tell whether there may be a tagged value or a number that two writers of JSON print in different ways.

    That is one with an exponent, with eight digits before the point or three zeros behind it, a negative zero, or an
    integer of 19 digits, which may not fit 64 bits.
    """
    pieces = range(0, len(content), _PIECE)
    return any(_piece_may_hold(content[at : at + _PIECE + _LONGEST_RUN]) for at in pieces)


def may_be_deep(payload: bytes) -> bool:
    """Tell whether a JSON text may be nested deeper than Jackson reads."""
    return payload.count(b"[") + payload.count(b"{") > MAY_BE_DEEP


def deep_rows(texts: Any) -> list[int]:
    """Return which rows of a column of JSON texts may be nested deeper than Jackson reads or writes."""
    _, offsets = memory(texts)
    long = np.flatnonzero(np.diff(offsets) > MAY_BE_DEEP)
    return [row for row in long.tolist() if may_be_deep(texts[row].as_py() or b"")]


def _piece_may_hold(content: Any) -> bool:
    raw = content.tobytes()
    # One byte is found much faster than several.
    if b"@" in raw and b'{"@' in raw:
        return True
    is_digit = (content - 0x30) < 10
    if (is_digit[:-1] & ((content[1:] | 0x20) == 0x65)).any() or _has_run(is_digit, _LONGEST_RUN):
        return True
    return b"." in raw and (b"0.000" in raw or b"-0.0" in raw or _has_run(is_digit, 8))


def _has_run(marks: Any, count: int) -> bool:
    """Tell whether a boolean array holds so many true in a row, by the bits of one large number."""
    bits, length = int.from_bytes(np.packbits(marks).tobytes(), "big"), 1
    while length < count:
        step = min(length, count - length)
        bits &= bits >> step
        length += step
    return bits != 0
