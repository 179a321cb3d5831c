"""Java's text of values, which Kafka receives when a value is written as text."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hearth_api.calendar import day_of
from hearth_api.number import narrow
from hearth_api.schema import Schema, Type

_FIRST_DAY = dt.date(1970, 1, 1).toordinal()
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_PLAIN = frozenset((str, int))
"""Types whose text is the same in Python; bool is not."""


def double_text(value: float) -> str:
    """Return a FLOAT64 as Java prints it, such as `1.0E10`."""
    size = abs(value)
    if 1e-3 <= size < 1e7 or size == 0.0:
        return repr(value)
    return _java_layout(value, repr(value))


def float_text(value: float) -> str:
    """Return a FLOAT32 as Java prints it: the fewest digits that give the same 32 bits."""
    narrowed = narrow(value)
    if not math.isfinite(narrowed) or narrowed == 0.0:
        return double_text(narrowed)
    return _java_layout(narrowed, _shortest(narrowed))


def number_text(value: float, schema: Schema | None) -> str:
    """Return a float as Java prints it, as FLOAT32 if the schema says so and the value fits."""
    is_narrow = schema is not None and schema.type is Type.FLOAT32 and narrow(value) == value
    return float_text(value) if is_narrow else double_text(value)


def java_text(value: Any, schema: Schema | None = None) -> str:
    """Return the text of Java's `toString()` for a Connect value; bytes, unreadable in Java, as base64."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    if type(value) in _PLAIN:
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number_text(value, schema)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, (dt.date, dt.time)):
        return _date_text(value)
    return _container_text(value, schema)


def _container_text(value: Any, schema: Schema | None) -> str:
    if isinstance(value, (list, tuple)):
        inner = schema.value_schema if schema is not None and schema.type is Type.ARRAY else None
        return f"[{', '.join([str(item) if type(item) in _PLAIN else java_text(item, inner) for item in value])}]"
    if isinstance(value, Mapping):
        is_map = schema is not None and schema.type is Type.MAP
        keys = schema.key_schema if schema is not None and is_map else None
        items = schema.value_schema if schema is not None and is_map else None
        pairs = [
            f"{key if type(key) in _PLAIN else java_text(key, keys)}"
            f"={item if type(item) in _PLAIN else java_text(item, items)}"
            for key, item in value.items()
        ]
        return f"{{{', '.join(pairs)}}}"
    return str(value)


def _date_text(value: dt.date | dt.time) -> str:
    # Java has one class for all three and prints it in the machine's time zone.
    if isinstance(value, dt.time):
        value = dt.datetime.combine(dt.date(1970, 1, 1), value)
    elif not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.timezone.utc)
    shown = value.astimezone()
    day = day_of(shown.toordinal() - _FIRST_DAY)
    return f"{shown:%a} {_MONTHS[day.month - 1]} {day.day:02} {shown:%H:%M:%S %Z} {day.year}"


def _shortest(value: float) -> str:
    for digits in range(2, 10):
        text = f"{value:.{digits}g}"
        if narrow(float(text)) == value:
            return text
    return repr(value)


def _java_layout(value: float, shortest: str) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign, digit_tuple, exponent = Decimal(shortest).as_tuple()
    if len(digit_tuple) == 1:
        # Java always writes two digits and takes the nearest two: 4.9E-324.
        sign, digit_tuple, exponent = Decimal(f"{value:.1e}").as_tuple()
    digits = "".join(map(str, digit_tuple)).rstrip("0")
    exponent = int(exponent) + len(digit_tuple) - 1
    lead = "-" if sign else ""
    if not -3 <= exponent < 7:
        return f"{lead}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"{lead}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{lead}{whole}.{digits[exponent + 1 :] or '0'}"
