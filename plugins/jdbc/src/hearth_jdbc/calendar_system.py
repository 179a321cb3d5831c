"""Days of Java's calendar, which is Julian before 15 October 1582, from and to Gregorian ones.

With `date.calendar.system=LEGACY` a date keeps its digits: 4 March 1500 in the database is 4 March 1500 of the Julian
calendar in the record, ten days later than the Gregorian day of that name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_CUTOVER = -141_427  # 15 October 1582
_JULIAN_START = -719_470  # 1 March of the year 0, Julian
_GREGORIAN_START = -719_468
_WIDEST_GAP = 20
_DAY_MICROS = 86_400_000_000

Days = Any
"""A numpy array of days."""


def to_hybrid(days: Any) -> Any:
    """Return Gregorian days as the days of the same digits in Java's calendar."""
    return _changed(days, _CUTOVER, _julian_of_gregorian)


def from_hybrid(days: Any) -> Any:
    """Return days of Java's calendar as the Gregorian days of the same digits."""
    return _changed(days, _CUTOVER, _gregorian_of_julian)


def micros_to_hybrid(micros: Any) -> Any:
    """Return Gregorian timestamps in microseconds as those of the same digits in Java's calendar."""
    return _moved(micros, to_hybrid)


def micros_from_hybrid(micros: Any) -> Any:
    """Return timestamps of Java's calendar in microseconds as the Gregorian ones of the same digits."""
    return _moved(micros, from_hybrid)


def _moved(micros: Any, change: Any) -> Any:
    if len(micros) == micros.null_count or pc.min(micros).as_py() >= (_CUTOVER + _WIDEST_GAP) * _DAY_MICROS:
        return micros
    numbers = micros.fill_null(0).to_numpy(zero_copy_only=False)
    days = np.floor_divide(numbers, _DAY_MICROS)
    changed = change(pa.array(days, pa.int64())).to_numpy(zero_copy_only=False)
    mask = micros.is_null().to_numpy(zero_copy_only=False) if micros.null_count else None
    return pa.array(numbers + (changed.astype(np.int64) - days) * _DAY_MICROS, pa.int64(), mask=mask)


def _changed(days: Any, end: int, change: Any) -> Any:
    if len(days) == days.null_count or pc.min(days).as_py() >= end:
        return days
    numbers = days.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    early = numbers < end
    numbers[early] = change(numbers[early])
    mask = days.is_null().to_numpy(zero_copy_only=False) if days.null_count else None
    return pa.array(numbers.astype(np.int32), pa.int32(), mask=mask)


def _julian_of_gregorian(days: Days) -> Days:
    ages, rest = np.divmod(days - _GREGORIAN_START, 146_097)
    year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    in_year = rest - (365 * year + year // 4 - year // 100)
    year = year + 400 * ages
    return 365 * year + year // 4 + in_year + _JULIAN_START


def _gregorian_of_julian(days: Days) -> Days:
    ages, rest = np.divmod(days - _JULIAN_START, 1461)
    year = (rest - rest // 1460) // 365
    in_year = rest - 365 * year
    year = year + 4 * ages
    return 365 * year + year // 4 - year // 100 + year // 400 + in_year + _GREGORIAN_START
