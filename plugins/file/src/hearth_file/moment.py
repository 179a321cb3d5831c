"""Formats many timestamps as Java does: `Thu Jan 01 00:16:07 UTC 1970`, in the machine's time zone.

Zone offsets are multiples of a quarter of an hour, so within a quarter only minutes and seconds change. Where that is
not true, such as for historical local times, timestamps are formatted one by one.
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
"""The position of minutes and seconds in a text."""
_CLOCKS = np.frombuffer(b"".join(f"{second // 60:02}:{second % 60:02}".encode() for second in range(_HOUR)), np.uint8)
_WIDTH = 5


def moments(millis: Any) -> list[Any]:
    """Return the parts that `hearth_api.layout.join` joins to the texts of milliseconds since 1970."""
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
    """Return the distinct numbers, and the index of each number among them."""
    encoded = pa.array(numbers).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


@lru_cache(maxsize=1024)
def _quarter(number: int) -> tuple[bytes, int, bytes] | None:
    """Return the text before minutes and seconds in a quarter of an hour, its first second, and the text after them.

    None if the zone offset changes within the quarter.
    """
    first, last = (_text(second) for second in (number * _QUARTER, (number + 1) * _QUARTER - 1))
    minute, second = int(first[14:16]), int(first[17:19])
    begin = minute * 60 + second
    end = begin + _QUARTER - 1
    expected = f"{first[:14]}{end // 60:02}:{end % 60:02}{first[19:]}"
    return (first[:14].encode(), begin, first[19:].encode()) if last == expected else None


def _text(second: int) -> str:
    return java_text(Timestamp.to_logical(Timestamp.SCHEMA, second * _SECOND))
