"""The physical form of values: decimals as bytes, dates and times as numbers, structs as dicts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from hearth_api.errors import DataError
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.schema import Schema, Type
from hearth_api.struct import Struct
from hearth_api.validation import fit_plainly, validate_value

_STRUCT, _ARRAY, _MAP = Type.STRUCT, Type.ARRAY, Type.MAP  # looking up an Enum member is slow
_LOGICAL: dict[str | None, Any] = {kind.LOGICAL_NAME: kind for kind in (Date, Decimal, Time, Timestamp)}


def to_physical(schema: Schema, value: Any) -> Any:
    """Return the physical form of a value; one that does not fit the schema raises a DataError.

    Nulls pass everywhere: the converter decides whether they are allowed.
    """
    if value is None:
        return None
    logical = _LOGICAL.get(schema.name) if schema.name is not None else None
    if logical is not None:
        validate_value(schema, value)
        return logical.from_logical(schema, value)
    if schema.type is _STRUCT:
        return _struct_to_physical(schema, value)
    if schema.type is _ARRAY and isinstance(value, (list, tuple)):
        if _fit(schema.value_schema, value):
            return list(value)
        return [_inner_to_physical(schema.value_schema, item) for item in value]
    if schema.type is _MAP and isinstance(value, dict):
        keys, items = schema.key_schema, schema.value_schema
        if _fit(keys, value) and _fit(items, value.values()):
            return dict(value)
        return {as_key(_inner_to_physical(keys, key)): _inner_to_physical(items, item) for key, item in value.items()}
    validate_value(schema, value)
    return value


def from_physical(schema: Schema, physical: Any) -> Any:
    """Return the value for a physical form, as the inverse of `to_physical`."""
    if physical is None:
        return None
    logical = _LOGICAL.get(schema.name) if schema.name is not None else None
    if logical is not None:
        return logical.to_logical(schema, physical)
    if schema.type is _STRUCT:
        fields = schema.fields
        values = [_inner_from_physical(field.schema, physical.get(field.name)) for field in fields]
        return Struct.unchecked(schema, values)
    if schema.type is _ARRAY:
        if _is_plain(schema.value_schema):
            return list(physical)
        return [_inner_from_physical(schema.value_schema, item) for item in physical]
    if schema.type is _MAP:
        keys, items = schema.key_schema, schema.value_schema
        pairs = physical.items()
        if _is_plain(keys) and _is_plain(items):
            return dict(pairs)
        return {as_key(_inner_from_physical(keys, key)): _inner_from_physical(items, item) for key, item in pairs}
    return physical


def as_key(value: Any) -> Any:
    """Return a value as a dict key: an array becomes a tuple, and a map raises a DataError."""
    if isinstance(value, (list, tuple)):
        return tuple(map(as_key, value))
    if isinstance(value, dict):
        raise DataError("a map cannot be the key of a map")
    return value


def _struct_to_physical(schema: Schema, value: Any) -> dict[str, Any]:
    if not isinstance(value, Struct):
        validate_value(schema, value)
    if value.schema is not schema and value.schema != schema:
        raise DataError("Mismatching schema.")
    pairs = zip(schema.fields, value.raw_values(), strict=False)
    return {field.name: to_physical(field.schema, item) for field, item in pairs}


def _is_plain(schema: Schema | None) -> bool:
    """Return whether values equal their physical form: no schema, or a type without parts or logical meaning."""
    return schema is None or (schema._kind is not None and schema.name not in _LOGICAL)


def _fit(schema: Schema | None, values: Collection[Any]) -> bool:
    """Return whether values equal their physical form and certainly fit their schema."""
    return schema is None or (schema.name not in _LOGICAL and fit_plainly(schema, values))


def _inner_to_physical(schema: Schema | None, value: Any) -> Any:
    return value if schema is None else to_physical(schema, value)


def _inner_from_physical(schema: Schema | None, physical: Any) -> Any:
    return physical if schema is None else from_physical(schema, physical)
