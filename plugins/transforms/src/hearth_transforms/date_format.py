"""Java's SimpleDateFormat in UTC and English: formats and parses times by its patterns.

Parsing is as lenient as in Java: 32 January is 1 February, text after the last field is ignored, and the calendar is
Julian before 15 October 1582. Moments are milliseconds since 1970, so that any year can be represented.

Weeks start on Sunday and the first week contains 1 January, as in Java with an English locale. Fields that count
weeks (`Y`, `w`, `W`, `F`), `u`, and a day of the week without a day can be formatted but not parsed. The only known
time zone names are GMT and UTC.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from hearth_api import ConfigError
from hearth_api.java import Day, day_number, day_of

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_LETTERS = "GyYMLwWDdFEuaHkKhmsSzZX"
_NEVER_READ = "uFYwW"
_STEPS = {"S": 1, "s": _SECOND, "m": _MINUTE, "H": _HOUR, "k": _HOUR, "K": _HOUR, "h": _HOUR, "a": 12 * _HOUR}
_COUNTS = {"S": 1000, "s": 60, "m": 60, "H": 24, "k": 24, "K": 12, "h": 12, "a": 2}
"""The number of steps in one period."""
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HALVES = ("AM", "PM")
_ERAS = ("BC", "AD")
_LONG_ERAS = ("Before Christ", "Anno Domini")
_UTC = "Coordinated Universal Time"
_ISO_ZONES = {
    1: re.compile(r"[ \t]*(?:Z|([+-])(\d\d)())", re.ASCII),
    2: re.compile(r"[ \t]*(?:Z|([+-])(\d\d)(\d\d))", re.ASCII),
    3: re.compile(r"[ \t]*(?:Z|([+-])(\d\d):(\d\d))", re.ASCII),
}
_ZONE = re.compile(rf"GMT([+-])(\d\d?):(\d\d)|[ \t]*(?:([+-])(\d\d)(\d\d)|GMT|UTC|{_UTC})", re.ASCII | re.IGNORECASE)
# Spaces before a number are skipped; a number may be negative and have an exponent.
_NUMBER = re.compile(r"[ \t]*(-?\d+)(?:E(-?\d+))?")
_PIECE = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+", re.DOTALL)


class _Field(NamedTuple):
    """A pattern letter and its number of repetitions."""

    letter: str
    width: int

    @property
    def is_number(self) -> bool:
        """Return whether the field is numeric."""
        return self.letter not in "GEazZX" and not (self.letter in "ML" and self.width > 2)


class _Moment(NamedTuple):
    """A moment split into its date, the days since 1970 and the milliseconds since midnight."""

    day: Day
    number: int
    millis: int


@dataclass(frozen=True)
class Section:
    """Adjacent fields of a pattern that depend on the day, or on one unit of the time of day.

    The text is constant within a `step` of milliseconds since 1970 and repeats after `count` steps; days do not
    repeat.
    """

    parts: Sequence[_Field | str]
    step: int
    count: int | None

    def print(self, step: int) -> str:
        """Return the text of a step; steps are numbered from 1970."""
        return _printed(self.parts, step * self.step)

    @cached_property
    def texts(self) -> list[bytes]:
        """Return the texts of all steps of a period."""
        return [self.print(step).encode() for step in range(self.count or 0)]


class DateFormat:
    """A parsed pattern. Immutable and thread-safe."""

    def __init__(self, pattern: str) -> None:
        """Parse a pattern.

        Raises ValueError with Java's message for what Java refuses, NotImplementedError for what is unsupported here.
        """
        self.pattern = pattern
        self._parts = _compiled(pattern)
        self._century = _eighty_years_ago()

    @property
    def step(self) -> int:
        """Return the interval in milliseconds, aligned to 1970, within which all moments have the same text."""
        return min((section.step for section in self.sections), default=_DAY)

    @cached_property
    def sections(self) -> list[Section]:
        """Return the sections of the text in order."""
        groups: list[tuple[str, list[_Field | str]]] = []
        for part in self._parts:
            letter = part.letter if isinstance(part, _Field) and part.letter in _STEPS else ""
            if groups and (isinstance(part, str) or letter == groups[-1][0] == ""):
                groups[-1][1].append(part)
            else:
                groups.append((letter, [part]))
        return [Section(parts, _STEPS.get(letter, _DAY), _COUNTS.get(letter)) for letter, parts in groups]

    def print(self, millis: int) -> str:
        """Return the text of a moment."""
        return _printed(self._parts, millis)

    def require_reading(self) -> None:
        """Raise NotImplementedError if the pattern can only format."""
        letters = {part.letter for part in self._parts if isinstance(part, _Field)}
        refused = sorted(letters.intersection(_NEVER_READ))
        if refused:
            raise NotImplementedError(f"Pattern character '{refused[0]}' is printed, but not read")
        if "E" in letters and not letters & {"d", "D"}:
            raise NotImplementedError("Pattern character 'E' is read only together with 'd' or 'D'")

    def read(self, text: str) -> int | None:
        """Parse the moment at the start of a text; return None if it does not match the pattern."""
        found: dict[str, int] = {}
        place = 0
        for part, following in zip(self._parts, [*self._parts[1:], ""]):
            if isinstance(part, str):
                end = place + len(part) if text.startswith(part, place) else None
            else:
                is_cut = isinstance(following, _Field) and following.is_number
                end = self._read_field(part, text, place, is_cut, found)
            if end is None:
                return None
            place = end
        return self._resolved(found)

    def _read_field(self, field: _Field, text: str, place: int, is_cut: bool, found: dict[str, int]) -> int | None:
        """Add a field's value to `found` and return the start of the next field."""
        names = _names(field)
        if field.letter in "zZX":
            read = _read_zone(field, text, place)
        elif names:
            read = _read_name(names, text, place)
        else:
            read = _read_number(text, place, place + field.width if is_cut else None)
        if read is None:
            return None
        value, end = read
        letter, value = _plain(field.letter, value)
        digits = text[place:end].lstrip(" \t")
        if letter == "y" and field.width <= 2 and len(digits) == 2 and digits.isdigit():
            found["century"] = value
            value += self._century.year // 100 * 100 + (100 if value < self._century.year % 100 else 0)
        found.pop(letter, None)  # The last field with a letter wins and comes last.
        found[letter] = value
        return end

    def _resolved(self, found: dict[str, int]) -> int:
        millis = _resolved(found)
        start = int(self._century.timestamp() * _SECOND)
        if found.get("century") == self._century.year % 100 and millis < start:
            return _resolved({**found, "y": found["y"] + 100})
        return millis


def _printed(parts: Sequence[_Field | str], millis: int) -> str:
    number, in_day = divmod(millis, _DAY)
    moment = _Moment(day_of(number), number, in_day)
    return "".join([part if isinstance(part, str) else _PRINTERS[part.letter](moment, part.width) for part in parts])


def format_of(name: str, pattern: str, is_read: bool = False) -> DateFormat:
    """Return the format for a setting; raise if parsing is requested and not supported."""
    try:
        made = DateFormat(pattern)
        if is_read:
            made.require_reading()
    except (ValueError, NotImplementedError) as error:
        raise ConfigError(name, pattern, str(error)) from error
    return made


def _compiled(pattern: str) -> list[_Field | str]:
    parts: list[_Field | str] = []
    place = 0
    while place < len(pattern):
        match = _PIECE.match(pattern, place)
        if match is None:
            raise ValueError("Unterminated quote")
        place = match.end()
        quoted, letter = match.groups()
        if letter:
            parts.append(_checked(_Field(letter, len(match.group()))))
        else:
            parts.append(match.group() if quoted is None else quoted.replace("''", "'") or "'")
    return parts


def _checked(field: _Field) -> _Field:
    if field.letter not in _LETTERS:
        raise ValueError(f"Illegal pattern character '{field.letter}'")
    if field.letter == "X" and field.width not in _ISO_ZONES:
        raise ValueError(f"invalid ISO 8601 format: length={field.width}")
    return field


def _eighty_years_ago() -> dt.datetime:
    """Return the start of the hundred years that two-digit years fall in."""
    now = dt.datetime.now(dt.timezone.utc)
    is_leap_day = (now.month, now.day) == (2, 29)
    return now.replace(year=now.year - 80, day=28 if is_leap_day else now.day)


def _number(get: Callable[[_Moment], int]) -> Callable[[_Moment, int], str]:
    return lambda moment, width: f"{get(moment):0{width}d}"


def _print_year(moment: _Moment, width: int) -> str:
    year = moment.day.year if moment.day.year > 0 else 1 - moment.day.year
    return f"{year % 100:02}" if width == 2 else f"{year:0{width}d}"


def _print_week_year(moment: _Moment, width: int) -> str:
    year, _ = _week_of_year(moment)
    return f"{'-' * (year < 0)}{abs(year) % 100 if width == 2 else abs(year):0{width}d}"


def _week_of_year(moment: _Moment) -> tuple[int, int]:
    """Return the year and number of a day's week; a week with a 1 January belongs to that year."""
    year = moment.day.year
    saturday = moment.number + 6 - _since_sunday(moment.number)
    if saturday >= day_number(year + 1, 1, 1):
        return year + 1, 1
    return year, _week_since(moment, day_number(year, 1, 1))


def _week_since(moment: _Moment, first: int) -> int:
    """Return the number of a day's week, counted from the week of `first`."""
    return (moment.number - first + _since_sunday(first)) // 7 + 1


def _since_sunday(number: int) -> int:
    """Return the days from the last Sunday to a day, given as days since 1970-01-01, a Thursday."""
    return (number + 4) % 7


def _print_month(moment: _Moment, width: int) -> str:
    name = _MONTHS[moment.day.month - 1]
    return f"{moment.day.month:0{width}d}" if width < 3 else name if width > 3 else name[:3]


def _print_weekday(moment: _Moment, width: int) -> str:
    name = _WEEKDAYS[(moment.number + 3) % 7]
    return name if width > 3 else name[:3]


_PRINTERS: dict[str, Callable[[_Moment, int], str]] = {
    "G": lambda moment, width: _ERAS[moment.day.year > 0],
    "y": _print_year,
    "Y": _print_week_year,
    "w": _number(lambda moment: _week_of_year(moment)[1]),
    "W": _number(lambda moment: _week_since(moment, moment.number - moment.day.day + 1)),
    "M": _print_month,
    "L": _print_month,
    "D": _number(lambda moment: moment.number - day_number(moment.day.year, 1, 1) + 1),
    "d": _number(lambda moment: moment.day.day),
    "F": _number(lambda moment: (moment.day.day - 1) // 7 + 1),
    "E": _print_weekday,
    "u": _number(lambda moment: (moment.number + 3) % 7 + 1),
    "a": lambda moment, width: _HALVES[moment.millis // (12 * _HOUR)],
    "H": _number(lambda moment: moment.millis // _HOUR),
    "k": _number(lambda moment: moment.millis // _HOUR or 24),
    "K": _number(lambda moment: moment.millis // _HOUR % 12),
    "h": _number(lambda moment: moment.millis // _HOUR % 12 or 12),
    "m": _number(lambda moment: moment.millis // _MINUTE % 60),
    "s": _number(lambda moment: moment.millis // _SECOND % 60),
    "S": _number(lambda moment: moment.millis % _SECOND),
    "z": lambda moment, width: _UTC if width > 3 else "UTC",
    "Z": lambda moment, width: "+0000",
    "X": lambda moment, width: "Z",
}


def _names(field: _Field) -> dict[str, int]:
    """Map the short and long names of a field to their numbers."""
    if field.letter == "a":
        return {name: half for half, name in enumerate(_HALVES)}
    if field.letter == "G":
        return {name: era for names in (_ERAS, _LONG_ERAS) for era, name in enumerate(names)}
    if field.letter == "E":
        return {text: day for day, name in enumerate(_WEEKDAYS) for text in (name, name[:3])}
    if field.letter in "ML" and not field.is_number:
        return {text: month for month, name in enumerate(_MONTHS, 1) for text in (name, name[:3])}
    return {}


def _read_name(names: dict[str, int], text: str, place: int) -> tuple[int, int] | None:
    matching = [name for name in names if text[place : place + len(name)].lower() == name.lower()]
    longest = max(matching, key=len, default=None)
    return None if longest is None else (names[longest], place + len(longest))


def _read_number(text: str, place: int, end: int | None) -> tuple[int, int] | None:
    if end is not None and end > len(text):
        return None
    match = _NUMBER.match(text if end is None else text[:end], place)
    if match is None:
        return None
    digits, exponent = match.groups()
    number = int(digits)
    if exponent:
        power = max(min(int(exponent), 30), -30)
        number = number * 10**power if power >= 0 else int(number / 10**-power)
    return _int32(number), match.end()


def _int32(number: int) -> int:
    """Return the number as Java keeps it: the low 32 bits if it fits 64, else the limit."""
    if not -(1 << 63) <= number < 1 << 63:
        return (1 << 31) - 1 if number > 0 else -(1 << 31)
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


def _read_zone(field: _Field, text: str, place: int) -> tuple[int, int] | None:
    """Parse a zone and return its offset from UTC in milliseconds."""
    zone = _ISO_ZONES[field.width] if field.letter == "X" else _ZONE
    match = zone.match(text, place)
    if match is None:
        return None
    given = [group for group in match.groups() if group is not None]
    if not given:
        return 0, match.end()
    sign, hours, minutes = given[0], int(given[1]), int(given[2] or 0)
    if hours > 23 or minutes > 59:
        return None
    return (hours * _HOUR + minutes * _MINUTE) * (-1 if sign == "-" else 1), match.end()


def _plain(letter: str, value: int) -> tuple[str, int]:
    """Return the canonical letter of a field and the value in its numbering."""
    if letter == "k":
        return "H", 0 if value == 24 else value
    if letter == "h":
        return "K", 0 if value == 12 else value
    if letter in "zZX":
        return "Z", value
    return ("M", value) if letter == "L" else (letter, value)


def _resolved(found: dict[str, int]) -> int:
    """Return the moment of the fields, whose values may be out of range."""
    order = list(found)
    year = found.get("y", 1970)
    if found.get("G") == 0:
        year = 1 - year
    if "D" in found and ("d" not in found or order.index("D") > order.index("d")):
        day = day_number(year, 1, found["D"])
    else:
        day = day_number(year, found.get("M", 1), found.get("d", 1))
    clock = _hours(found, order) * _HOUR + found.get("m", 0) * _MINUTE + found.get("s", 0) * _SECOND
    return day * _DAY + clock + found.get("S", 0) - found.get("Z", 0)


def _hours(found: dict[str, int], order: list[str]) -> int:
    """Return the hour, from the twelve-hour clock if it was parsed last and with its half of the day."""
    of_twelve = found.get("K", 0) + 12 * found.get("a", 0)
    if "H" not in found:
        return of_twelve
    has_half_day = "K" in found and "a" in found
    is_later = has_half_day and max(order.index("K"), order.index("a")) > order.index("H")
    return of_twelve if is_later else found["H"]
