"""Checks that a Python value is what its schema says."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from hearth_api.errors import DataError
from hearth_api.schema import Schema, Type

_INTEGER_LIMIT = {Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: 1 << 31, Type.INT64: 1 << 63}
_PYTHON_TYPES: dict[Type, Any] = {
    **dict.fromkeys(_INTEGER_LIMIT, int),
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list, tuple),
    Type.MAP: dict,
}
# Values of just this class fit, whatever they are; most values of records are such.
_SIMPLE: dict[Type, type] = {
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
}
_LOGICAL_TYPES: dict[str, type] = {
    "org.apache.kafka.connect.data.Decimal": decimal.Decimal,
    "org.apache.kafka.connect.data.Date": dt.date,
    "org.apache.kafka.connect.data.Time": dt.time,
    "org.apache.kafka.connect.data.Timestamp": dt.datetime,
}


def validate_value(schema: Schema, value: Any, field: str | None = None) -> None:
    """Raise a DataError unless the value fits the schema; `field` names the place in the message."""
    if schema.name is None and type(value) is _SIMPLE.get(schema.type):
        return
    _validate(schema, value, "value" if field is None else f'field: "{field}"')


def is_logical(schema: Schema) -> bool:
    """Tell whether values of the schema are dates, times, timestamps or decimals in Python."""
    return schema.name in _LOGICAL_TYPES


def _validate(schema: Schema, value: Any, place: str) -> None:
    if value is None:
        if not schema.optional:
            raise DataError(f"Invalid value: null used for required {place}, schema type: {schema.type}")
        return
    if schema.name is not None and schema.name in _LOGICAL_TYPES:
        _check_logical(schema, value, place)
        return
    if schema.type is Type.STRUCT:
        _check_struct(schema, value, place)
        return
    if not isinstance(value, _PYTHON_TYPES[schema.type]):
        raise _wrong_class(schema, value, place)
    limit = _INTEGER_LIMIT.get(schema.type)
    if limit is not None:
        _check_integer(schema, value, place, limit)
    elif schema.type is Type.ARRAY:
        _check_array(schema, value, place)
    elif schema.type is Type.MAP:
        _check_map(schema, value, place)


def _check_integer(schema: Schema, value: Any, place: str, limit: int) -> None:
    if isinstance(value, bool):
        raise _wrong_class(schema, value, place)
    if not -limit <= value < limit:
        raise DataError(f"Invalid value: {value} is out of range for {place}, schema type: {schema.type}")


def _check_logical(schema: Schema, value: Any, place: str) -> None:
    expected = _LOGICAL_TYPES[schema.name or ""]
    # A datetime is a date to Python, but a moment is not a day.
    is_moment_for_day = expected is dt.date and isinstance(value, dt.datetime)
    if not isinstance(value, expected) or is_moment_for_day:
        raise _wrong_class(schema, value, place)
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        raise DataError(f"Invalid value: datetime without time zone used for {place}", hint="use UTC")


def _check_struct(schema: Schema, value: Any, place: str) -> None:
    from hearth_api.struct import Struct  # structs need this module themselves

    if not isinstance(value, Struct):
        raise _wrong_class(schema, value, place)
    if value.schema is not schema and value.schema != schema:
        raise DataError("Struct schemas do not match.")
    value.validate()


def _check_array(schema: Schema, value: Any, place: str) -> None:
    entry_place = f"element of array {place}"
    entry_schema = _inner(schema.value_schema, entry_place)
    for entry in value:
        _validate(entry_schema, entry, entry_place)


def _check_map(schema: Schema, value: dict[Any, Any], place: str) -> None:
    key_place, value_place = f"key of map {place}", f"value of map {place}"
    key_schema, value_schema = _inner(schema.key_schema, key_place), _inner(schema.value_schema, value_place)
    for key, item in value.items():
        _validate(key_schema, key, key_place)
        _validate(value_schema, item, value_place)


def _inner(schema: Schema | None, place: str) -> Schema:
    if schema is None:
        raise DataError(f"No schema defined for {place}")
    return schema


def _wrong_class(schema: Schema, value: object, place: str) -> DataError:
    name = "" if schema.name is None else f' "{schema.name}"'
    found = f"{schema.type}: class {type(value).__qualname__}"
    return DataError(f"Invalid Python object for schema{name} with type {found} for {place}")
