"""Dates, times and timestamps as text, parsed as leniently as Java's SimpleDateFormat does.

Java parses and prints timestamps in the machine's time zone, whatever the `Z` at the end says, and so does this
module. Dates and times of day have no zone in Python; they are parsed and printed unchanged, where Java shifts them
unless the machine's zone is UTC.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

from hearth_api.calendar import day_number
from hearth_api.logical import Date, Time, Timestamp
from hearth_api.schema import STRING_SCHEMA, Schema

_DAY = 86_400_000
# Spaces before a number are skipped; a number may be negative and have an exponent.
_NUMBER = r"[ \t]*(-?\d+(?:E-?\d+)?)"
_DATE = re.compile("-".join([_NUMBER] * 3))
_TIME = re.compile(rf"{_NUMBER}:{_NUMBER}:{_NUMBER}\.{_NUMBER}Z")
_TIMESTAMP = re.compile(f"{_DATE.pattern}T{_TIME.pattern}")
_ISO = re.compile(r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}T)?[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_GREGORIAN = "1583"
"""The first whole year whose calendar is the same in Python and in Java."""
_LENGTHS = (10, 13, 24)
_SHORTEST = 5
"""Ten characters in Java, of which a surrogate pair is one here."""
_FIRST_DAY = dt.date(1970, 1, 1).toordinal()
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def parse_temporal(text: str) -> tuple[Schema, Any] | None:
    """Return the date, time or timestamp of a text, chosen by its length; None if it holds none.

    Trailing characters within the length are ignored: `2019-8-23x` is a date. Values that Python cannot hold
    (timestamps outside the years 1 to 9999, times of day of 24 hours and more) stay a STRING.
    """
    if len(text) < _SHORTEST:
        return None
    original, text = text, text.replace("\\:", ":")
    length = len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)  # as UTF-16
    if length not in _LENGTHS:
        return None
    if (found := parse_iso(text)) is not None:
        return found
    try:
        if length == 13 and (match := _TIME.match(text)):
            return (Time.SCHEMA, _time(match))
        if length == 24 and (match := _TIMESTAMP.match(text)):
            return (Timestamp.SCHEMA, _timestamp(match))
        if length == 10 and (match := _DATE.match(text)):
            return (Date.SCHEMA, dt.date.fromordinal(_ordinal(*match.groups())))
    except (ValueError, OverflowError):
        return (STRING_SCHEMA, original)
    return None


def parse_iso(text: str) -> tuple[Schema, Any] | None:
    """Return a date, time or timestamp in its usual form; None for other texts and for invalid days of a month."""
    length = len(text)
    if length not in _LENGTHS or _ISO.fullmatch(text) is None:
        return None
    try:
        if length == 13:
            return (Time.SCHEMA, dt.time.fromisoformat(text[:-1]))
        if text < _GREGORIAN:
            return None
        if length == 10:
            return (Date.SCHEMA, dt.date.fromisoformat(text))
        return (Timestamp.SCHEMA, dt.datetime.fromisoformat(text[:-1]).astimezone(dt.timezone.utc))
    except (ValueError, OverflowError):
        return None


def temporal_text(value: dt.date | dt.time) -> str:
    """Return Kafka Connect's text: a time if before 1970-01-02, a date if midnight in UTC, else a timestamp."""
    if isinstance(value, dt.time):
        return _time_text(value)
    millis = _millis(value)
    if isinstance(value, dt.datetime):
        value = value.astimezone()
    if millis < _DAY:
        return _time_text(value.time() if isinstance(value, dt.datetime) else dt.time())
    if millis % _DAY == 0:
        return value.strftime("%Y-%m-%d")
    return f"{value.strftime('%Y-%m-%dT%H:%M:%S')}.{_fraction(value)}Z"


def _millis(value: dt.date) -> int:
    if isinstance(value, dt.datetime):
        return Timestamp.from_logical(Timestamp.SCHEMA, value)
    return Date.from_logical(Date.SCHEMA, value) * _DAY


def _time_text(value: dt.time) -> str:
    return f"{value.strftime('%H:%M:%S')}.{_fraction(value)}Z"


def _fraction(value: Any) -> str:
    return f"{value.microsecond // 1000:03}"


def _number(text: str) -> int:
    digits, _, exponent = text.partition("E")
    if not exponent:
        return _int32(int(digits))
    # Texts have at most 24 characters here, but the exponent may still be huge.
    power = max(min(int(exponent), 30), -30)
    return _int32(int(digits) * 10**power if power >= 0 else int(int(digits) / 10**-power))


def _int32(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _ordinal(year: str, month: str, day: str) -> int:
    """Return Python's ordinal of a day."""
    return day_number(_number(year), _number(month), _number(day)) + _FIRST_DAY


def _clock(hours: str, minutes: str, seconds: str, millis: str) -> dt.timedelta:
    return dt.timedelta(
        hours=_number(hours), minutes=_number(minutes), seconds=_number(seconds), milliseconds=_number(millis)
    )


def _time(match: re.Match[str]) -> dt.time:
    clock = _clock(*match.groups())
    if not dt.timedelta() <= clock < dt.timedelta(days=1):
        raise ValueError(f"not a time of day: {clock}")
    return (_EPOCH + clock).time()


def _timestamp(match: re.Match[str]) -> dt.datetime:
    year, month, day, *clock = match.groups()
    midnight = dt.datetime.fromordinal(_ordinal(year, month, day))
    return (midnight + _clock(*clock)).astimezone(dt.timezone.utc)
