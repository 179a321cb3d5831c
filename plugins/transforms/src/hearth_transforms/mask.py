"""Replacement values of MaskField."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

from hearth_api import DataError, Decimal, Schema, Type
from hearth_api.java import (
    convert_to_decimal,
    convert_to_float32,
    convert_to_float64,
    convert_to_int8,
    convert_to_int16,
    convert_to_int32,
    convert_to_int64,
    java_class,
)

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_NUMBERS: dict[Type, Callable[[Schema | None, Any], Any]] = {
    Type.INT8: convert_to_int8,
    Type.INT16: convert_to_int16,
    Type.INT32: convert_to_int32,
    Type.INT64: convert_to_int64,
    Type.FLOAT32: convert_to_float32,
    Type.FLOAT64: convert_to_float64,
}
# Maximum digits of a masked decimal; a longer replacement is nonsense and is left unscaled.
_ROOM = decimal.Context(prec=1000)
# The order matters: in Python a bool is an int and a datetime is a date.
_NOTHINGS: tuple[tuple[type, Any], ...] = (
    (bool, False),
    (int, 0),
    (float, 0.0),
    (str, ""),
    (dt.datetime, _EPOCH),
    (dt.date, _EPOCH.date()),
    (dt.time, dt.time()),
)


def mask(value: Any, schema: Schema | None, replacement: str | None) -> Any:
    """Return the masked value: the replacement, or else the empty value of its type; None for None."""
    if value is None:
        return None
    return _nothing(value, schema) if replacement is None else _replaced(value, schema, replacement)


def _nothing(value: Any, schema: Schema | None) -> Any:
    if isinstance(value, decimal.Decimal):
        return _scaled(decimal.Decimal(0), schema)
    if isinstance(value, (list, dict)):
        return type(value)()
    for kind, nothing in _NOTHINGS:
        if isinstance(value, kind):
            return nothing
    raise DataError(f"Cannot mask value of type: class {java_class(value, schema)}")


def _replaced(value: Any, schema: Schema | None, replacement: str) -> Any:
    if isinstance(value, str):
        return replacement
    if isinstance(value, decimal.Decimal):
        return _scaled(_converted(lambda: convert_to_decimal(None, replacement, 0), replacement, "number"), schema)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        kind = schema.type if schema is not None else Type.INT64 if isinstance(value, int) else Type.FLOAT64
        return _converted(lambda: _NUMBERS[kind](None, replacement), replacement, "a number")
    raise DataError(f"Cannot mask value of type class {java_class(value, schema)} with custom replacement.")


def _converted(convert: Callable[[], Any], replacement: str, target: str) -> Any:
    try:
        return convert()
    except DataError as error:
        message = f"Unable to convert {replacement} (class java.lang.String) to {target}"
        raise DataError(message) from error


def _scaled(number: decimal.Decimal, schema: Schema | None) -> decimal.Decimal:
    """Return the number in the scale of the schema, if that loses no digits."""
    if schema is None:
        return number
    try:
        scaled = number.quantize(decimal.Decimal(1).scaleb(-Decimal.scale(schema)), context=_ROOM)
    except decimal.InvalidOperation:
        return number
    return scaled if scaled == number else number
