"""Converts logical types to and from Google's and Confluent's messages: dates, times, timestamps, decimals."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

from hearth_api import DataError, Date, Decimal, Schema, Time, Timestamp
from hearth_api.java import java_class, wrap
from hearth_registry.proto_wire import LENGTH, SCALARS, VARINT, Encode, read_varint, skip, varint

Read = Callable[[bytes], Any]
_MILLION = 1_000_000
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def _numbers(*numbers: int) -> bytes:
    """Return a message whose fields, starting at 1, are integers; zeros are omitted."""
    _, encode, _ = SCALARS["int64"]
    return b"".join([varint(place << 3) + encode(number) for place, number in enumerate(numbers, 1) if number])


def _write_date(schema: Schema) -> Encode:
    def write(value: Any) -> bytes:
        if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
            raise DataError(f"Invalid type for Date, expected Date but was class {java_class(value, schema)}")
        return _numbers(value.year, value.month, value.day)

    return write


def _write_time(schema: Schema) -> Encode:
    def write(value: Any) -> bytes:
        if not isinstance(value, dt.time):
            raise DataError(f"Invalid type for Time, expected Date but was class {java_class(value, schema)}")
        return _numbers(value.hour, value.minute, value.second, value.microsecond // 1000 * 1_000_000)

    return write


def _write_timestamp(schema: Schema) -> Encode:
    def write(value: Any) -> bytes:
        if not isinstance(value, dt.datetime):
            raise DataError(f"Invalid type for Timestamp, expected Date but was class {java_class(value, schema)}")
        seconds, millis = divmod(Timestamp.from_logical(schema, value), 1000)
        return _numbers(seconds, millis * 1_000_000)

    return write


def _write_decimal(schema: Schema) -> Encode:
    def write(value: Any) -> bytes:
        if not isinstance(value, decimal.Decimal) or not value.is_finite():
            raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {java_class(value, schema)}")
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        unscaled = Decimal.from_logical(Decimal.schema(-exponent), value)
        precision = len("".join(map(str, digits)).lstrip("0")) or 1
        return b"\x0a" + varint(len(unscaled)) + unscaled + b"\x10" + varint(precision) + _scale(-exponent)

    return write


def _scale(scale: int) -> bytes:
    _, encode, _ = SCALARS["int32"]
    return b"\x18" + encode(scale) if scale else b""


WRITERS: dict[str | None, Callable[[Schema], Encode]] = {
    Decimal.LOGICAL_NAME: _write_decimal,
    Date.LOGICAL_NAME: _write_date,
    Time.LOGICAL_NAME: _write_time,
    Timestamp.LOGICAL_NAME: _write_timestamp,
}
"""Writers of message bytes by logical type name, for a schema."""


def _parts(data: bytes) -> dict[int, Any]:
    """Return the fields of a message of integers and bytes, by number."""
    found: dict[int, Any] = {}
    at, end = 0, len(data)
    while at < end:
        key, at = read_varint(data, at, end)
        if key & 7 == VARINT:
            found[key >> 3], at = SCALARS["int64"][2](data, at, end)
        elif key & 7 == LENGTH:
            found[key >> 3], at = SCALARS["bytes"][2](data, at, end)
        else:
            at = skip(data, at, end, key)
    return found


def _int(found: dict[int, Any], number: int) -> int:
    value = found.get(number, 0)
    return value if isinstance(value, int) else 0


def _read_date(schema: Schema) -> Read:
    def read(data: bytes) -> Any:
        found = _parts(data)
        year, month, day = (_int(found, number) for number in (1, 2, 3))
        try:
            return dt.date(year, month, day)
        except (ValueError, OverflowError) as error:
            raise DataError(f"not a date of the years 1 to 9999: year {year}, month {month}, day {day}") from error

    return read


def _read_time(schema: Schema) -> Read:
    def read(data: bytes) -> Any:
        found = _parts(data)
        hours, minutes, seconds, nanos = (_int(found, number) for number in (1, 2, 3, 4))
        try:
            return dt.time(hours, minutes, seconds, nanos // _MILLION * 1000)
        except (ValueError, OverflowError) as error:
            raise DataError(f"not a time of day: {hours}:{minutes}:{seconds} and {nanos} ns") from error

    return read


def _read_timestamp(schema: Schema) -> Read:
    def read(data: bytes) -> Any:
        found = _parts(data)
        return Timestamp.to_logical(schema, _int(found, 1) * 1000 + _int(found, 2) // _MILLION)

    return read


def _read_decimal(schema: Schema) -> Read:
    scale = Decimal.scale(schema)

    def read(data: bytes) -> Any:
        found = _parts(data)
        unscaled, own = found.get(1, b""), wrap(_int(found, 3), 32)
        if not isinstance(unscaled, bytes) or not unscaled:
            raise DataError("Invalid bytes for Decimal field: Zero length BigInteger")
        number = _EXACT.scaleb(decimal.Decimal(int.from_bytes(unscaled, "big", signed=True)), -own)
        return number if own == scale else _rescaled(number, scale)

    return read


def _rescaled(number: decimal.Decimal, scale: int) -> decimal.Decimal:
    """Rescale a decimal to the scale of its schema, which converters require for writing."""
    if number and number.adjusted() + scale > 10_000:
        raise DataError("decimal of more than 10000 digits")
    rescaled = _EXACT.quantize(number, decimal.Decimal(1).scaleb(-scale, _EXACT))
    if rescaled != number:
        raise DataError(f"decimal has more digits than the scale of its schema, {scale}: {number}")
    return rescaled


READERS: dict[str | None, Callable[[Schema], Read]] = {
    Decimal.LOGICAL_NAME: _read_decimal,
    Date.LOGICAL_NAME: _read_date,
    Time.LOGICAL_NAME: _read_time,
    Timestamp.LOGICAL_NAME: _read_timestamp,
}
"""Readers of message bytes by logical type name, for a schema."""
