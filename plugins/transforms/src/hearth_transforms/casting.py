"""Casts values: Java's conversions between numbers, and Java's parsing of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from hearth_api import DataError, Date, Schema, Time, Timestamp, Type
from hearth_api.java import (
    convert_to_float32,
    convert_to_int8,
    convert_to_int16,
    convert_to_int32,
    convert_to_int64,
    convert_to_string,
    float_text,
    java_class,
    trimmed,
)
from hearth_transforms.requirement import inferred_type

OUTPUTS = tuple(type_ for type_ in Type if type_.is_primitive and type_ is not Type.BYTES)
"""The types that can be cast to."""
INPUTS = (*OUTPUTS, Type.BYTES)
"""The types that can be cast from."""
_LOGICAL: dict[str | None, Any] = {kind.LOGICAL_NAME: kind for kind in (Date, Time, Timestamp)}
# Java accepts any decimal digit of the Basic Multilingual Plane in integers, and only ASCII digits in floats.
_WHOLE = re.compile(r"[+-]?[^\D\U00010000-\U0010ffff]+")
_FLOAT = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?|([+-]?(?:NaN|Infinity))")
_HEXADECIMAL = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_INTEGERS: dict[Type, tuple[int, Callable[[Schema | None, Any], int | None]]] = {
    Type.INT8: (8, convert_to_int8),
    Type.INT16: (16, convert_to_int16),
    Type.INT32: (32, convert_to_int32),
    Type.INT64: (64, convert_to_int64),
}
_EXACT_BITS = 40
_LONGEST = 4000  # Python refuses to parse integers with more digits, which would not fit anyway


def supported(types: tuple[Type, ...]) -> str:
    """Return the end of the message for an unsupported type."""
    return f"supported types are [{', '.join(map(str, types))}]"


def cast(value: Any, schema: Schema | None, target: Type) -> Any:
    """Return a value in the target type; None for None."""
    if value is None:
        return None
    source = inferred_type(value, "Cast") if schema is None else schema.type
    if source not in INPUTS:
        raise DataError(f"Cast transformation does not support casting from {source}; {supported(INPUTS)}")
    if target is Type.STRING:
        return convert_to_string(schema, value)
    if schema is not None and schema.name in _LOGICAL:
        value = _LOGICAL[schema.name].from_logical(schema, value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise DataError(f"Unexpected type in Cast transformation: class {java_class(value)}")
    if target is Type.BOOLEAN:
        return value.lower() == "true" if isinstance(value, str) else convert_to_int64(None, _number(value)) != 0
    if target in _INTEGERS:
        return _integer(value, target)
    number = _float(value, target)
    # Python has one float type: without a schema, a value that prints as a Java Float counts as one.
    return float(float_text(number)) if schema is None and target is Type.FLOAT32 else number


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _integer(value: Any, target: Type) -> int | None:
    bits, convert = _INTEGERS[target]
    if isinstance(value, str):
        limit = 1 << (bits - 1)
        number = int(value) if len(value) < _LONGEST and _WHOLE.fullmatch(value) else limit
        if not -limit <= number < limit:
            raise _out_of_range(value)
        return number
    if isinstance(value, float) and bits < 64:
        # Java converts to int first, which saturates.
        value = 0 if math.isnan(value) else int(max(-(2.0**31), min(value, 2.0**31 - 1)))
    return convert(None, _number(value))


def _float(value: Any, target: Type) -> Any:
    if isinstance(value, str):
        number = _parsed(value)
    elif isinstance(value, int) and target is Type.FLOAT32:
        number = float(_shortened(value))
    else:
        number = float(value)
    return number if target is Type.FLOAT64 else convert_to_float32(None, number)


def _shortened(number: int) -> int:
    """Drop the bits of an integer that do not fit a 32-bit float, keeping a sticky bit.

    The 64-bit float of the result is exact, which avoids double rounding.
    """
    shift = max(0, number.bit_length() - _EXACT_BITS)
    rest = abs(number) & ((1 << shift) - 1)
    short = ((abs(number) >> shift) | (rest != 0)) << shift
    return -short if number < 0 else short


def _parsed(text: str) -> float:
    number = trimmed(text)
    if (match := _FLOAT.fullmatch(number)) is not None:
        return float(match[1] or match[2])
    if (match := _HEXADECIMAL.fullmatch(number)) is not None:
        try:
            return float.fromhex(match[1])
        except OverflowError:
            return -math.inf if number.startswith("-") else math.inf
    raise _out_of_range(text)


def _out_of_range(text: str) -> DataError:
    return DataError(f"Value ({text}) was out of range for requested data type")
