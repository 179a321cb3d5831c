"""Checks that a Python value fits its schema, at any depth.

Values nested too deep for Python's stack raise a `RecursionError`: this module is never compiled, so each level has a
Python frame.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from typing import Any

from hearth_api.errors import DataError
from hearth_api.schema import INTEGER_RANGES, LOGICAL_KINDS, Schema, Type
from hearth_api.struct_layout import is_struct

_PYTHON_TYPES: dict[Type, Any] = {
    **dict.fromkeys(INTEGER_RANGES, int),
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list, tuple),
    Type.MAP: dict,
}


def validate_value(schema: Schema, value: Any, field: str | None = None) -> None:
    """Raise a DataError unless the value fits the schema; `field` names the place in the message."""
    if value is None and schema.optional:
        return
    if schema.type is Type.STRUCT and is_struct(value) and value.schema is schema:
        value.validate()
    elif type(value) is not schema._kind or not (schema._most is None or schema._least <= value <= schema._most):
        _validate(schema, value, "value" if field is None else f'field: "{field}"')


def fit_plainly(schema: Schema, values: Collection[Any]) -> bool:
    """Return whether all values are direct instances of the schema's class and within its range."""
    if schema._kind is None or not {schema._kind}.issuperset(map(type, values)):
        return False
    return schema._most is None or not values or schema._least <= min(values) <= max(values) <= schema._most


def is_logical(schema: Schema) -> bool:
    """Return whether values of the schema are dates, times, timestamps or decimals in Python."""
    return schema.name in LOGICAL_KINDS


def _validate(schema: Schema, value: Any, place: str) -> None:
    if value is None:
        if not schema.optional:
            raise DataError(f"Invalid value: null used for required {place}, schema type: {schema.type}")
        return
    if schema.name in LOGICAL_KINDS:
        _check_logical(schema, value, place)
        return
    if schema.type is Type.STRUCT:
        _check_struct(schema, value, place)
        return
    if not isinstance(value, _PYTHON_TYPES[schema.type]):
        raise _wrong_class(schema, value, place)
    if schema._most is not None:
        _check_integer(schema, value, place, schema._most)
    elif schema.type is Type.ARRAY:
        _check_array(schema, value, place)
    elif schema.type is Type.MAP:
        _check_map(schema, value, place)


def _check_integer(schema: Schema, value: Any, place: str, most: int) -> None:
    if isinstance(value, bool):
        raise _wrong_class(schema, value, place)
    if not schema._least <= value <= most:
        raise DataError(f"Invalid value: {value} is out of range for {place}, schema type: {schema.type}")


def _check_logical(schema: Schema, value: Any, place: str) -> None:
    kind, expected = type(value), LOGICAL_KINDS[schema.name]
    if kind is not expected:
        # In Python a datetime is also a date.
        is_moment_for_day = expected is dt.date and isinstance(value, dt.datetime)
        if not isinstance(value, expected) or is_moment_for_day:
            raise _wrong_class(schema, value, place)
    if expected is dt.datetime and value.tzinfo is None:
        raise DataError(f"Invalid value: datetime without time zone used for {place}", hint="use UTC")


def _check_struct(schema: Schema, value: Any, place: str) -> None:
    if not is_struct(value):
        raise _wrong_class(schema, value, place)
    if value.schema is not schema and value.schema != schema:
        raise DataError("Struct schemas do not match.")
    value.validate()


def _check_array(schema: Schema, value: Any, place: str) -> None:
    entry_place = f"element of array {place}"
    entry_schema = _inner(schema.value_schema, entry_place)
    if not fit_plainly(entry_schema, value):
        for entry in value:
            _validate(entry_schema, entry, entry_place)


def _check_map(schema: Schema, value: dict[Any, Any], place: str) -> None:
    key_place, value_place = f"key of map {place}", f"value of map {place}"
    key_schema, value_schema = _inner(schema.key_schema, key_place), _inner(schema.value_schema, value_place)
    if fit_plainly(key_schema, value) and fit_plainly(value_schema, value.values()):
        return
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
