"""Conversions of numbers, dates and times by Kafka Connect's rules, for values that need no parsing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal as PythonDecimal
from typing import Any

from hearth_api.errors import DataError
from hearth_api.logical import Date, Time, Timestamp
from hearth_api.number import narrow, parse_decimal, to_long, wrap
from hearth_api.schema import Schema

_EPOCH_DAY = dt.date(1970, 1, 1)


def convert_to_int8(schema: Schema | None, value: Any) -> int | None:
    """Return the value as INT8, truncated to 8 bits."""
    return None if value is None else wrap(as_long(value, schema), 8)


def convert_to_int16(schema: Schema | None, value: Any) -> int | None:
    """Return the value as INT16, truncated to 16 bits."""
    return None if value is None else wrap(as_long(value, schema), 16)


def convert_to_int32(schema: Schema | None, value: Any) -> int | None:
    """Return the value as INT32, truncated to 32 bits."""
    return None if value is None else wrap(as_long(value, schema), 32)


def convert_to_int64(schema: Schema | None, value: Any) -> int | None:
    """Return the value as INT64."""
    return None if value is None else as_long(value, schema)


def convert_to_float32(schema: Schema | None, value: Any) -> float | None:
    """Return the value as FLOAT32."""
    return None if value is None else narrow(as_double(value, schema))


def convert_to_float64(schema: Schema | None, value: Any) -> float | None:
    """Return the value as FLOAT64."""
    return None if value is None else as_double(value, schema)


def date_of(schema: Schema | None, value: Any) -> dt.date:
    """Return the value as Date: the day of a Timestamp, or a number of days."""
    kind = None if schema is None else schema.name
    if isinstance(value, dt.datetime) and kind in (None, Date.LOGICAL_NAME, Timestamp.LOGICAL_NAME):
        if schema is None or kind is not None:
            days = int(Timestamp.from_logical(Timestamp.SCHEMA, value) / 86_400_000)  # towards 1970, as in Java
            return Date.to_logical(Date.SCHEMA, days)
    elif isinstance(value, dt.date) and (schema is None or kind == Date.LOGICAL_NAME):
        return value
    elif isinstance(value, dt.time) and (schema is None or kind == Date.LOGICAL_NAME):
        return _EPOCH_DAY
    return Date.to_logical(Date.SCHEMA, wrap(as_long(value, schema), 32))


def time_of(schema: Schema | None, value: Any) -> dt.time:
    """Return the value as Time: the UTC time of day of a Timestamp, or a number of milliseconds."""
    kind = None if schema is None else schema.name
    if isinstance(value, dt.datetime) and (schema is None or kind in (Time.LOGICAL_NAME, Timestamp.LOGICAL_NAME)):
        return value.astimezone(dt.timezone.utc).time()
    if isinstance(value, dt.time) and (schema is None or kind == Time.LOGICAL_NAME):
        return value
    if isinstance(value, dt.date) and (schema is None or kind == Time.LOGICAL_NAME):
        return dt.time()
    return Time.to_logical(Time.SCHEMA, wrap(as_long(value, schema), 32))


def timestamp_of(schema: Schema | None, value: Any) -> dt.datetime:
    """Return the value as Timestamp: a Date at midnight UTC, or a number of milliseconds."""
    named = schema is not None and schema.name in (
        Date.LOGICAL_NAME,
        Time.LOGICAL_NAME,
        Timestamp.LOGICAL_NAME,
    )
    if isinstance(value, (dt.date, dt.time)) and (schema is None or named):
        return _moment(value)
    return Timestamp.to_logical(Timestamp.SCHEMA, as_long(value, schema))


def as_long(value: Any, from_schema: Schema | None) -> int:
    """Return a number or numeric text as a 64-bit integer, truncating fractions."""
    if isinstance(value, (int, float, PythonDecimal)) and not isinstance(value, bool):
        return to_long(value)
    if isinstance(value, str) and (number := parse_decimal(value)) is not None:
        return to_long(number)
    if from_schema is None:
        raise cannot_convert(value, "a number")
    if isinstance(value, (dt.date, dt.time)) and from_schema.name in _FROM_LOGICAL:
        return _FROM_LOGICAL[from_schema.name](from_schema, value)
    raise cannot_convert(value, from_schema)


def as_double(value: Any, schema: Schema | None) -> float:
    """Return a number or numeric text as a 64-bit float."""
    if isinstance(value, (int, float, PythonDecimal)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and (number := parse_decimal(value)) is not None:
        return float(number)
    return float(as_long(value, schema))


def null_error() -> DataError:
    """Return the error for a null where a value is required."""
    return DataError("Unable to convert a null value to a schema that requires a value")


def cannot_convert(value: Any, target: Any) -> DataError:
    """Return the error for a conversion that Kafka Connect lacks."""
    return DataError(f"Unable to convert {value} (class {type(value).__qualname__}) to {target}")


def _moment(value: dt.date | dt.time) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    day, clock = (_EPOCH_DAY, value) if isinstance(value, dt.time) else (value, dt.time())
    return dt.datetime.combine(day, clock, tzinfo=dt.timezone.utc)


_FROM_LOGICAL: dict[str | None, Callable[[Schema, Any], int]] = {
    kind.LOGICAL_NAME: kind.from_logical for kind in (Date, Time, Timestamp)
}
