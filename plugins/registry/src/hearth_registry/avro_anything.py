"""Data without schema in Avro: a record with one field per type, of which one is set, or none for a null."""

from __future__ import annotations

from typing import Any

from hearth_api import DataError
from hearth_api.java import hash_ordered, java_class
from hearth_registry import avro_name as an
from hearth_registry.avro_input import (
    Cursor,
    Read,
    boolean_at,
    bytes_at,
    counts,
    double_at,
    float_at,
    int_at,
    long_at,
    text_at,
)
from hearth_registry.avro_output import Write, put_boolean, put_double, put_long, put_text
from hearth_registry.avro_type import AvroField, AvroType, array_of, union_of
from hearth_registry.schema_format import PayloadError

_ANYTHING_FIELDS = 9
_BOOLEAN, _BYTES_FIELD, _DOUBLE_FIELD, _FLOAT_FIELD, _INT, _LONG, _STRING, _ARRAY, _MAP = range(_ANYTHING_FIELDS)
_LONGS = range(-(1 << 63), 1 << 63)


def anything() -> AvroType:
    """Return the record type for data without schema: one field holds the value, or none for a null."""
    made = AvroType("record", an.ANYTHING)
    scalars = ("boolean", "bytes", "double", "float", "int", "long", "string")
    made.add(*[_nullable_field(kind, AvroType(kind)) for kind in scalars])
    entry = AvroType("record", f"{an.NAMESPACE}.{an.MAP_ENTRY}")
    entry.add(AvroField("key", made), AvroField("value", made))
    made.add(_nullable_field("array", array_of(made)), _nullable_field("map", array_of(entry)))
    return made


def _nullable_field(name: str, type_: AvroType) -> AvroField:
    return AvroField(name, union_of(AvroType("null"), type_), default=None)


def put_anything(out: bytearray, value: Any) -> None:
    """Append a value without schema as a record with one field per type."""
    if value is None:
        out += bytes(_ANYTHING_FIELDS)
        return
    number, put = _anything_field(value)
    out += bytes(number)
    out.append(2)
    put(out, value)
    out += bytes(_ANYTHING_FIELDS - 1 - number)


def _anything_field(value: Any) -> tuple[int, Write]:
    if isinstance(value, bool):
        return _BOOLEAN, put_boolean
    if isinstance(value, int) and value in _LONGS:
        return _LONG, put_long
    if isinstance(value, float):
        return _DOUBLE_FIELD, put_double
    if isinstance(value, str):
        return _STRING, put_text
    if isinstance(value, (list, tuple)):
        return _ARRAY, _put_list
    if isinstance(value, dict):
        return _MAP, _put_dict
    raise DataError(f"Unknown Java type for schemaless data: class {java_class(value)}")


def _put_list(out: bytearray, value: Any) -> None:
    if value:
        put_long(out, len(value))
        for item in value:
            put_anything(out, item)
    out.append(0)


def _put_dict(out: bytearray, value: Any) -> None:
    if value:
        put_long(out, len(value))
        for key, item in value.items():
            put_anything(out, key)
            put_anything(out, item)
    out.append(0)


def anything_at(cursor: Cursor) -> Any:
    """Read data without schema: return the one of nine fields that is set."""
    found = [_field_at(cursor, part) for part in _ANYTHING]
    return next((value for value in found if value is not None), None)


def _field_at(cursor: Cursor, part: Read) -> Any:
    number = long_at(cursor)
    if number not in (0, 1):
        raise PayloadError(f"{number} is no branch of a union of 2")
    return part(cursor) if number else None


def _list_at(cursor: Cursor) -> list[Any]:
    items: list[Any] = []
    while count := counts(cursor, len(_ANYTHING)):
        items += [anything_at(cursor) for _ in range(count)]
    return items


def _dict_at(cursor: Cursor) -> dict[Any, Any]:
    pairs: dict[Any, Any] = {}
    while count := counts(cursor, 2 * len(_ANYTHING)):
        for _ in range(count):
            key = as_key(anything_at(cursor))
            pairs[key] = anything_at(cursor)
    return hash_ordered(pairs, capacity=len(pairs))


_ANYTHING: tuple[Read, ...] = (
    boolean_at, bytes_at, double_at, float_at, int_at, long_at, text_at, _list_at, _dict_at,
)  # fmt: skip


def as_key(value: Any) -> Any:
    """Return a value as a dict key: an array becomes a tuple; raise DataError for a map."""
    if isinstance(value, list):
        return tuple(map(as_key, value))
    if isinstance(value, dict):
        raise DataError("a map cannot be the key of a map")
    return value
