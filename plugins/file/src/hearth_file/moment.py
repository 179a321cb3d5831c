"""Moments as Java prints them, many at a time: `Thu Jan 01 00:16:07 UTC 1970`, in the time zone of the machine.

Zones differ by quarters of an hour, so within each of these but minutes and seconds differ. Where that does not hold,
as long ago, when each town had a time of its own, moments are printed one by one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Timestamp
from hearth_api.java import java_text
from hearth_api.layout import Spans, chosen

_SECOND = 1000
_QUARTER = 900
_HOUR = 3600
_CLOCK = slice(14, 19)
"""Where minutes and seconds stand in a text."""
_CLOCKS = np.frombuffer(b"".join(f"{second // 60:02}:{second % 60:02}".encode() for second in range(_HOUR)), np.uint8)
_WIDTH = 5


def moments(millis: Any) -> list[Any]:
    """Return the pieces that texts of milliseconds since 1970 are joined of (`hearth_api.layout.join`)."""
    seconds = millis // _SECOND
    quarters = seconds // _QUARTER
    known, places = _different(quarters)
    found = [_quarter(quarter) for quarter in known]
    if None in found:
        known, places = _different(seconds)
        return [chosen([_text(second).encode() for second in known], places)]
    heads, firsts, tails = zip(*found)
    begins = (np.array(firsts) - np.array(known) * _QUARTER)[places]
    clocks = (seconds + begins) * _WIDTH
    return [chosen(heads, places), Spans(_CLOCKS, clocks, clocks + _WIDTH), chosen(tails, places)]


def _different(numbers: Any) -> tuple[list[int], Any]:
    """Return the numbers without repetitions, and for each which of these it is."""
    encoded = pa.array(numbers).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


@lru_cache(maxsize=1024)
def _quarter(number: int) -> tuple[bytes, int, bytes] | None:
    """Return what stands before minutes and seconds in a quarter of an hour, its first second, and what is behind.

    None where zones differ by less.
    """
    first, last = (_text(second) for second in (number * _QUARTER, (number + 1) * _QUARTER - 1))
    minute, second = int(first[14:16]), int(first[17:19])
    begin = minute * 60 + second
    end = begin + _QUARTER - 1
    expected = f"{first[:14]}{end // 60:02}:{end % 60:02}{first[19:]}"
    return (first[:14].encode(), begin, first[19:].encode()) if last == expected else None


def _text(second: int) -> str:
    return java_text(Timestamp.to_logical(Timestamp.SCHEMA, second * _SECOND))
