"""What Cast makes of values: Java's casts between numbers, and Java's reading of numbers in texts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from hearth_api import DataError, Date, Schema, Time, Timestamp, Type
from hearth_api.batch import ScalarColumn
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
# Java takes any decimal digit of the Basic Multilingual Plane for integers, and those of ASCII for floats.
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
_LONGEST = 4000  # Python refuses to read integers of more digits, and such a one would not fit


def supported(types: tuple[Type, ...]) -> str:
    """Return the end of the message about a type that is not among these."""
    return f"supported types are [{', '.join(map(str, types))}]"


def cast(value: Any, schema: Schema | None, target: Type) -> Any:
    """Return a value as the target type has it; null for null."""
    if value is None:
        return None
    if isinstance(value, ScalarColumn):
        from hearth_transforms.cast_column import cast_many

        return cast_many(value, target)
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
    # Python has one type of floats: what prints as Java's Float does stands for it where no schema tells.
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
        # Java goes by way of an int, which holds the nearest it can.
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
    """Return an integer without the bits that a 32-bit float has no room for, but for a sign that there were some.

    Its 64-bit float is exact then, so nothing is rounded twice.
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
