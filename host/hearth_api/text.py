"""The texts Java gives to values, which is what reaches Kafka when a value is written as text."""

from __future__ import annotations

import base64
import datetime as dt
import math
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hearth_api.schema import Schema, Type


def double_text(value: float) -> str:
    """Return a FLOAT64 the way Java prints it, such as `1.0E10`."""
    size = abs(value)
    if 1e-3 <= size < 1e7 or size == 0.0:
        return repr(value)
    return _java_layout(value, repr(value))


def float_text(value: float) -> str:
    """Return a FLOAT32 the way Java prints it: the fewest digits that give the same 32 bits."""
    if not math.isfinite(value) or value == 0.0:
        return double_text(value)
    try:
        target = struct.pack(">f", value)
    except OverflowError:
        return "Infinity" if value > 0 else "-Infinity"
    narrow = struct.unpack(">f", target)[0]
    if narrow == 0.0:
        return repr(narrow)
    return _java_layout(narrow, _shortest(narrow, target))


def java_text(value: Any, schema: Schema | None = None) -> str:
    """Return what Java's `toString()` gives for a Connect value; bytes, unreadable in Java, as base64."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value) if schema is not None and schema.type is Type.FLOAT32 else double_text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, (dt.date, dt.time)):
        return _date_text(value)
    return _container_text(value, schema)


def _container_text(value: Any, schema: Schema | None) -> str:
    if isinstance(value, (list, tuple)):
        inner = schema.value_schema if schema is not None and schema.type is Type.ARRAY else None
        return f"[{', '.join(java_text(item, inner) for item in value)}]"
    if isinstance(value, Mapping):
        is_map = schema is not None and schema.type is Type.MAP
        keys = schema.key_schema if schema is not None and is_map else None
        items = schema.value_schema if schema is not None and is_map else None
        pairs = (f"{java_text(key, keys)}={java_text(item, items)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    return str(value)


def _date_text(value: dt.date | dt.time) -> str:
    # Java has one class for all three and prints it in the zone of the machine.
    if isinstance(value, dt.time):
        value = dt.datetime.combine(dt.date(1970, 1, 1), value)
    elif not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.timezone.utc)
    return value.astimezone().strftime("%a %b %d %H:%M:%S %Z %Y")


def _shortest(value: float, target: bytes) -> str:
    for digits in range(6, 10):
        text = f"{value:.{digits}g}"
        if struct.pack(">f", float(text)) == target:
            return text
    return repr(value)


def _java_layout(value: float, shortest: str) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    sign, digit_tuple, exponent = Decimal(shortest).as_tuple()
    digits = "".join(map(str, digit_tuple)).rstrip("0")
    exponent = int(exponent) + len(digit_tuple) - 1
    lead = "-" if sign else ""
    if not -3 <= exponent < 7:
        return f"{lead}{digits[0]}.{digits[1:] or '0'}E{exponent}"
    if exponent < 0:
        return f"{lead}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{lead}{whole}.{digits[exponent + 1 :] or '0'}"
