"""The five time representations of TimestampConverter, converted through milliseconds since 1970."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    DataError,
    Date,
    Schema,
    Time,
    Timestamp,
    Type,
)
from hearth_api.java import java_class
from hearth_transforms.date_format import DateFormat
from hearth_transforms.requirement import NullPointerError

DAY = 86_400_000
"""Milliseconds per day."""
MILLIS = 1000
"""Milliseconds per second."""
PER_SECOND = {"seconds": 1, "milliseconds": MILLIS, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Notation:
    """How times are written: the format of strings, if any, and the unit of Unix times."""

    format: DateFormat | None
    per_second: int


@dataclass(frozen=True)
class TimeKind:
    """A time representation: its schemas, its name in errors, and the conversion to and from milliseconds.

    The milliseconds of a value of another kind are None.
    """

    schema: Schema
    optional_schema: Schema
    expected: str
    to_millis: Callable[[Any, Notation], int | None]
    from_millis: Callable[[int, Notation], Any]

    def schema_like(self, schema: Schema) -> Schema:
        """Return the schema of this kind with the optionality of another schema."""
        return self.optional_schema if schema.optional else self.schema

    def millis(self, value: Any, notation: Notation, schema: Schema | None) -> int:
        """Return a value as milliseconds since 1970."""
        found = self.to_millis(value, notation)
        if found is None:
            raise DataError(f"Expected {self.expected}, but found class {java_class(value, schema)}")
        return found


def rescaled(number: int, per_second: int, new_per_second: int) -> int:
    """Convert between units per second; fractions are truncated, and values saturate at the limits of INT64."""
    if new_per_second >= per_second:
        return max(min(number * (new_per_second // per_second), _LARGEST), -_LARGEST - 1)
    divisor = per_second // new_per_second
    return number // divisor if number >= 0 else -(-number // divisor)


def _read(text: Any, notation: Notation) -> int | None:
    if not isinstance(text, str):
        return None
    if notation.format is None:
        raise NullPointerError("a string cannot be read as a time without a `format`")
    try:
        notation.format.require_reading()
    except NotImplementedError as error:
        raise DataError(str(error)) from error
    millis = notation.format.read(text)
    if millis is None:
        pattern = notation.format.pattern
        raise DataError(f"Could not parse timestamp: value ({text}) does not match pattern ({pattern})")
    return millis


def _print(millis: int, notation: Notation) -> str:
    assert notation.format is not None  # `configure` requires one
    return notation.format.print(millis)


def _from_unix(number: Any, notation: Notation) -> int | None:
    is_number = isinstance(number, int) and not isinstance(number, bool)
    return rescaled(number, notation.per_second, MILLIS) if is_number else None


def _from_date(value: Any, notation: Notation) -> int | None:
    """Return the milliseconds of a date, time or timestamp, which are the same class in Java."""
    if isinstance(value, dt.datetime):
        return Timestamp.from_logical(Timestamp.SCHEMA, value)
    if isinstance(value, dt.date):
        return Date.from_logical(Date.SCHEMA, value) * DAY
    return Time.from_logical(Time.SCHEMA, value) if isinstance(value, dt.time) else None


STRING = TimeKind(STRING_SCHEMA, OPTIONAL_STRING_SCHEMA, "string timestamp to be a String", _read, _print)
UNIX = TimeKind(
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    "Unix timestamp to be a Long",
    _from_unix,
    lambda millis, notation: rescaled(millis, MILLIS, notation.per_second),
)
DATE = TimeKind(
    Date.SCHEMA,
    Date.builder().optional().build(),
    "Date to be a java.util.Date",
    _from_date,
    lambda millis, notation: Date.to_logical(Date.SCHEMA, millis // DAY),
)
TIME = TimeKind(
    Time.SCHEMA,
    Time.builder().optional().build(),
    "Time to be a java.util.Date",
    _from_date,
    lambda millis, notation: Time.to_logical(Time.SCHEMA, millis % DAY),
)
TIMESTAMP = TimeKind(
    Timestamp.SCHEMA,
    Timestamp.builder().optional().build(),
    "Timestamp to be a java.util.Date",
    _from_date,
    lambda millis, notation: Timestamp.to_logical(Timestamp.SCHEMA, millis),
)
KINDS = {"string": STRING, "unix": UNIX, "Date": DATE, "Time": TIME, "Timestamp": TIMESTAMP}
"""The kinds by their configuration names."""
_BY_SCHEMA_NAME: dict[str | None, TimeKind] = {
    Timestamp.LOGICAL_NAME: TIMESTAMP,
    Date.LOGICAL_NAME: DATE,
    Time.LOGICAL_NAME: TIME,
}
_BY_TYPE = {Type.STRING: STRING, Type.INT64: UNIX}


def kind_of_schema(schema: Schema) -> TimeKind:
    """Return the kind of time of a schema."""
    kind = _BY_SCHEMA_NAME.get(schema.name) or _BY_TYPE.get(schema.type)
    if kind is None:
        raise ConnectError(f"Schema {schema} does not correspond to a known timestamp type format")
    return kind


def kind_of_value(value: Any) -> TimeKind:
    """Return the kind of time of a value without schema."""
    if isinstance(value, (dt.date, dt.time)):
        return TIMESTAMP
    if isinstance(value, str):
        return STRING
    if isinstance(value, int) and not isinstance(value, bool):
        return UNIX
    raise DataError(f"TimestampConverter does not support class {java_class(value)} objects as timestamps")


def convert(value: Any, schema: Schema | None, target: TimeKind, notation: Notation) -> Any:
    """Convert a time to another kind; None for None."""
    if value is None:
        return None
    source = kind_of_value(value) if schema is None else kind_of_schema(schema)
    return target.from_millis(source.millis(value, notation, schema), notation)
