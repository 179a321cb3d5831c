"""Encodes Connect scalars in Avro's binary encoding after checking them against their schema."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

from hearth_api import DataError, Date, Decimal, Schema, Time, Timestamp, Type
from hearth_api.java import java_class
from hearth_registry.avro_output import (
    Write,
    number_bytes,
    put_boolean,
    put_bytes,
    put_double,
    put_float,
    put_long,
    put_text,
)
from hearth_registry.avro_type import AvroType
from hearth_registry.schema_format import PayloadError

_RANGES = {
    Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: 1 << 31, Type.INT64: 1 << 63,
}  # fmt: skip
_LOGICAL: dict[str | None, tuple[Any, type, str, str]] = {
    Decimal.LOGICAL_NAME: (Decimal, decimal.Decimal, "Decimal", "BigDecimal"),
    Date.LOGICAL_NAME: (Date, dt.date, "Date", "Date"),
    Time.LOGICAL_NAME: (Time, dt.time, "Time", "Date"),
    Timestamp.LOGICAL_NAME: (Timestamp, dt.datetime, "Timestamp", "Date"),
}
_BYTES = (bytes, bytearray, memoryview)
PHYSICAL = {
    Date.LOGICAL_NAME: Type.INT32, Decimal.LOGICAL_NAME: Type.BYTES, Time.LOGICAL_NAME: Type.INT32,
    Timestamp.LOGICAL_NAME: Type.INT64,
}  # fmt: skip
"""The physical type of each logical type; the logical name may also occur on other types."""
NUMBERS = ("int", "long", "float", "double")


def wrong_type(schema: Schema, value: object) -> DataError:
    """Return the error for a value of a class that its schema does not allow."""
    return DataError(f"Invalid type for {schema.type}: class {java_class(value, schema)}")


def mismatch(schema: Schema, target: AvroType) -> Write:
    """Return a writer that refuses every value, since the target has another type."""

    def write(out: bytearray, value: Any) -> None:
        raise PayloadError(f"a value of type {schema.type} cannot be written as {target.full_name}")

    return write


def physical_of(schema: Schema) -> Callable[[Any], Any]:
    """Return a function that checks a scalar and returns its physical value."""
    if schema.name in _LOGICAL:
        return _logical(schema)
    if schema.type in _RANGES:
        return _integer(schema, _RANGES[schema.type])
    kinds: Any = {
        Type.FLOAT32: float, Type.FLOAT64: float, Type.BOOLEAN: bool, Type.STRING: str, Type.BYTES: _BYTES,
    }[schema.type]  # fmt: skip

    def checked(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise wrong_type(schema, value)
        return value

    return checked


def _integer(schema: Schema, limit: int) -> Callable[[Any], int]:
    def checked(value: Any) -> int:
        if type(value) is not int and (not isinstance(value, int) or isinstance(value, bool)):
            raise wrong_type(schema, value)
        if not -limit <= value < limit:
            raise DataError(f"Invalid type for {schema.type}: {value} is out of range")
        return value

    return checked


def _logical(schema: Schema) -> Callable[[Any], Any]:
    kind, expected, label, java = _LOGICAL[schema.name]

    def checked(value: Any) -> Any:
        is_moment_for_day = expected is dt.date and isinstance(value, dt.datetime)
        if not isinstance(value, expected) or is_moment_for_day:
            raise DataError(f"Invalid type for {label}, expected {java} but was class {java_class(value, schema)}")
        if schema.type is not PHYSICAL[kind.LOGICAL_NAME]:
            raise wrong_type(schema, value)
        return kind.from_logical(schema, value)

    return checked


def scalar_writer(schema: Schema, target: AvroType) -> Write:
    """Return a function that checks and appends a scalar."""
    physical, put = physical_of(schema), _putters(schema, target)

    def write(out: bytearray, value: Any) -> None:
        put(out, physical(value))

    return write


def _putters(schema: Schema, target: AvroType) -> Write:
    """Return a function that appends a physical value, widened to the target type."""
    if target.kind == "fixed" and schema.type is Type.BYTES:
        return _fixed(schema, target)
    if schema.type in _RANGES and target.kind in NUMBERS:
        return {"int": put_long, "long": put_long, "float": put_float, "double": put_double}[target.kind]
    usual: dict[tuple[Type, str], Write] = {
        (Type.FLOAT32, "float"): put_float, (Type.FLOAT32, "double"): put_double,
        (Type.FLOAT64, "double"): put_double, (Type.BOOLEAN, "boolean"): put_boolean,
        (Type.STRING, "string"): put_text, (Type.BYTES, "bytes"): put_bytes,
    }  # fmt: skip
    return usual.get((schema.type, target.kind)) or mismatch(schema, target)


def enum_writer(schema: Schema, target: AvroType) -> Write:
    """Return a function that appends the index of an enum symbol."""
    numbers = {symbol: number_bytes(number) for number, symbol in enumerate(target.symbols)}

    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, str):
            raise wrong_type(schema, value)
        number = numbers.get(value)
        if number is None:
            raise PayloadError(
                f"value {value} (a {target.name}) is not one of its symbols: {', '.join(target.symbols)}"
            )
        out += number

    return write


def _fixed(schema: Schema, target: AvroType) -> Write:
    size, is_decimal = target.size, schema.name == Decimal.LOGICAL_NAME

    def write(out: bytearray, value: bytes) -> None:
        if len(value) == size:
            out += value
        elif not is_decimal:
            raise PayloadError(f"{len(value)} bytes do not fit fixed({size}) {target.name}")
        elif len(value) > size:
            raise DataError(f"Unscaled value byte array length {len(value)} is greater than fixed size {size}")
        else:
            out += (b"\xff" if value[:1] >= b"\x80" else b"\0") * (size - len(value)) + value

    return write
