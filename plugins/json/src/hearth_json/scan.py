"""Fast scans of the bytes of many JSON texts, which rule out cases that need slow checks.

False positives are possible: True means that a slower, exact check is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hearth_api.layout import memory
from hearth_json.depth import MOST_LEVELS

# Chunks of this size and the arrays computed from them fit the processor's cache.
_PIECE = 1 << 16
_LONGEST_RUN = 19
MAY_BE_DEEP = MOST_LEVELS - 1
"""A JSON text shorter than this cannot exceed Jackson's nesting depth, even as a payload, or its number length."""


def may_hold_odd_number(content: Any) -> bool:
    """Return whether there may be a tagged value or a number that two JSON writers print differently.

    Such a number has an exponent, eight digits before the point or three zeros after it, is a negative zero, or is an
    integer of 19 digits, which may not fit 64 bits.
    """
    pieces = range(0, len(content), _PIECE)
    return any(_piece_may_hold(content[at : at + _PIECE + _LONGEST_RUN]) for at in pieces)


def may_be_deep(payload: bytes) -> bool:
    """Return whether a JSON text may be nested deeper than Jackson reads."""
    return payload.count(b"[") + payload.count(b"{") > MAY_BE_DEEP


def deep_rows(texts: Any) -> list[int]:
    """Return which rows of a column of JSON texts may be nested deeper than Jackson reads or writes."""
    _, offsets = memory(texts)
    long = np.flatnonzero(np.diff(offsets) > MAY_BE_DEEP)
    return [row for row in long.tolist() if may_be_deep(texts[row].as_py() or b"")]


def _piece_may_hold(content: Any) -> bool:
    raw = content.tobytes()
    # Searching for one byte is much faster than for several.
    if b"@" in raw and b'{"@' in raw:
        return True
    is_digit = (content - 0x30) < 10
    if (is_digit[:-1] & ((content[1:] | 0x20) == 0x65)).any() or _has_run(is_digit, _LONGEST_RUN):
        return True
    return b"." in raw and (b"0.000" in raw or b"-0.0" in raw or _has_run(is_digit, 8))


def _has_run(marks: Any, count: int) -> bool:
    """Return whether a boolean array has `count` consecutive true values, using the bits of one large integer."""
    bits, length = int.from_bytes(np.packbits(marks).tobytes(), "big"), 1
    while length < count:
        step = min(length, count - length)
        bits &= bits >> step
        length += step
    return bits != 0
