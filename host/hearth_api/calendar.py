"""Java's calendar: Gregorian from 15 October 1582 on and Julian before, with days counted from 1970.

It has no first and no last year; year 0 is 1 BC. Python's dates are Gregorian throughout and cover the years 1 to
9999.
"""

from __future__ import annotations

from typing import NamedTuple

_CUTOVER = -141_427  # 15 October 1582
_CUTOVER_YEAR = 1582
# Years start in March here, so the leap day is the last; this is 1 March of the year 0.
_GREGORIAN_START = -719_468
_JULIAN_START = -719_470


class Day(NamedTuple):
    """A day of the calendar."""

    year: int
    month: int
    day: int


def day_of(number: int) -> Day:
    """Return the day a number of days after 1 January 1970."""
    if number >= _CUTOVER:
        ages, rest = divmod(number - _GREGORIAN_START, 146_097)
        year = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
        in_year = rest - (365 * year + year // 4 - year // 100)
        year += 400 * ages
    else:
        ages, rest = divmod(number - _JULIAN_START, 1461)
        year = (rest - rest // 1460) // 365
        in_year = rest - 365 * year
        year += 4 * ages
    month = (5 * in_year + 2) // 153
    day = in_year - (153 * month + 2) // 5 + 1
    return Day(year + (month > 9), (month + 2) % 12 + 1, day)


def day_number(year: int, month: int, day: int) -> int:
    """Return the number of days from 1 January 1970 to a day; month and day may exceed their ranges."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    shifted = year - (month < 3)
    in_year = (153 * ((month - 3) % 12) + 2) // 5 + day - 1
    julian = shifted * 365 + shifted // 4 + in_year + _JULIAN_START
    if year < _CUTOVER_YEAR:
        return julian
    gregorian = shifted * 365 + shifted // 4 - shifted // 100 + shifted // 400 + in_year + _GREGORIAN_START
    return gregorian if gregorian >= _CUTOVER else julian
