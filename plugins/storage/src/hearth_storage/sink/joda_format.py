"""Texts of times by a pattern of Joda-Time, which `path.format` is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from hearth_api import ConfigError

_TOKEN = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|''|[^A-Za-z']+")
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?")
_MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_QUARTER = 15 * 60_000
_TEXTS = re.compile(r"M{3,}|E|a|z")

Writer = Callable[[datetime], str]


def zone_of(text: str) -> tzinfo:
    """Return a time zone by its name or by an offset, `+02:00`; another text raises a ValueError or KeyError."""
    offset = _OFFSET.fullmatch(text)
    if offset is None:
        return ZoneInfo(text)
    minutes = int(offset[2]) * 60 + int(offset[3] or 0)
    return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))


class JodaFormat:
    """Writes times in a zone by a pattern; names of months and days are English."""

    def __init__(self, pattern: str, zone: tzinfo) -> None:
        self.zone = zone
        self._writers = list(_writers(pattern))
        self._offsets: dict[int, int] = {}

    def text(self, time: int) -> str:
        """Return the text of a time in ms since 1970."""
        moment = (_EPOCH + timedelta(milliseconds=time)).astimezone(self.zone)
        return "".join(write(moment) for write in self._writers)

    def start(self, time: int, duration: int) -> int:
        """Return when the period that contains a time begins, both in ms; periods of `duration` ms begin in 1970.

        As in Confluent's `TimeBasedPartitioner.getPartition`, periods are counted in local time.
        """
        local = time + self.offset(time)
        return self._to_utc(int(local / duration) * duration if local < 0 else local // duration * duration)

    def offset(self, time: int) -> int:
        """Return the milliseconds that local time is ahead of UTC; zones change it at quarters of an hour."""
        quarter = time // _QUARTER
        found = self._offsets.get(quarter)
        if found is None:
            moment = _EPOCH + timedelta(milliseconds=quarter * _QUARTER)
            ahead = moment.astimezone(self.zone).utcoffset() or timedelta()
            found = self._offsets[quarter] = int(ahead / timedelta(milliseconds=1))
        return found

    def _to_utc(self, local: int) -> int:
        """Return the time of a local time, which may occur never or twice, as Joda's `convertLocalToUTC` does."""
        assumed = self.offset(local)
        offset = self.offset(local - assumed)
        if assumed != offset and assumed < 0 and self.offset(local - offset) != offset:
            offset = assumed
        return local - offset


def pattern_warnings(pattern: str, locale: str) -> list[str]:
    """Return what in a valid pattern probably means something else to its author."""
    letters = "".join(match[0] for match in _TOKEN.finditer(pattern) if match[1])
    found = []
    if "D" in letters and "M" in letters:
        found.append("D is the day of the year: write dd for the day of the month")
    if "m" in letters and not set("HhKk") & set(letters):
        found.append("m is the minute: write MM for the month")
    if set("hK") & set(letters) and "a" not in letters:
        found.append("h and K count twelve hours: write HH for hours from 00 to 23")
    if "x" in letters and "w" not in letters:
        found.append("x is the year of the week: write yyyy for the year")
    if _TEXTS.search(letters) and not locale.lower().startswith("en"):
        found.append(f"names of months and days are English, not those of locale {locale}")
    return found


def _writers(pattern: str) -> Iterator[Writer]:
    end = 0
    for match in _TOKEN.finditer(pattern):
        if match.start() != end:
            break
        end = match.end()
        yield _writer(match[0]) if match[1] else _literal(match)
    if end != len(pattern):
        raise ConfigError(f"a quote of {pattern!r} has no end")


def _literal(match: re.Match[str]) -> Writer:
    quoted = match[2]
    text = "'" if match[0] == "''" else match[0] if quoted is None else quoted.replace("''", "'")
    return lambda _: text


def _writer(token: str) -> Writer:
    letter, width = token[0], len(token)
    if letter in "Yyx" and width == 2:
        return lambda moment: f"{_NUMBERS[letter](moment) % 100:02d}"
    if letter == "M" and width > 2:
        return lambda moment: _short(_MONTHS[moment.month - 1], width)
    if letter in _NUMBERS:
        return lambda moment: f"{_NUMBERS[letter](moment):0{width}d}"
    if letter in _WORDS:
        return lambda moment: _WORDS[letter](moment, width)
    raise ConfigError(f"Illegal pattern component: {token}")


def _short(name: str, width: int) -> str:
    return name if width > 3 else name[:3]


def _offset_text(moment: datetime, width: int) -> str:
    if width > 2:
        name = str(moment.tzinfo)
        return name.removeprefix("UTC") or name
    minutes = int((moment.utcoffset() or timedelta()).total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02d}{':' if width == 2 else ''}{rest:02d}"


_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "C": lambda moment: moment.year // 100,
    "Y": lambda moment: moment.year,
    "y": lambda moment: moment.year,
    "x": lambda moment: moment.isocalendar()[0],
    "w": lambda moment: moment.isocalendar()[1],
    "e": lambda moment: moment.isoweekday(),
    "D": lambda moment: moment.timetuple().tm_yday,
    "M": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: (moment.hour - 1) % 12 + 1,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
}
_WORDS: dict[str, Callable[[datetime, int], str]] = {
    "G": lambda moment, width: "AD",
    "E": lambda moment, width: _short(_DAYS[moment.weekday()], width),
    "a": lambda moment, width: "AM" if moment.hour < 12 else "PM",
    "S": lambda moment, width: f"{moment.microsecond:06d}"[:3][:width].ljust(width, "0"),
    "z": lambda moment, width: moment.tzname() or "",
    "Z": _offset_text,
}
