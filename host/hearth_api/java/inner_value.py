"""What stands in an array or a map: each value with its schema, and the schema that all of them share.

This is compiled. It is no deeper in itself than JSON of a hundred levels, or than `values` could read, which is Python
and has a frame for each level.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NoReturn

from hearth_api.errors import DataError
from hearth_api.java.physical import as_key
from hearth_api.java.scalar import (
    convert_to_float32,
    convert_to_float64,
    convert_to_int8,
    convert_to_int16,
    convert_to_int32,
    convert_to_int64,
    date_of,
    null_error,
    time_of,
    timestamp_of,
)
from hearth_api.java.scalar_text import LITERALS, NULL, SPACE, Found, read_number
from hearth_api.java.temporal import parse_temporal
from hearth_api.logical import Date, Time, Timestamp
from hearth_api.schema import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from hearth_api.text import number_text

_WIDENING = {
    type_: rank
    for rank, type_ in enumerate((Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64))
}
_BRINGING: dict[tuple[Type, str | None], Callable[[Schema | None, Any], Any]] = {
    (Type.INT8, None): convert_to_int8,
    (Type.INT16, None): convert_to_int16,
    (Type.INT32, None): convert_to_int32,
    (Type.INT32, Date.LOGICAL_NAME): date_of,
    (Type.INT32, Time.LOGICAL_NAME): time_of,
    (Type.INT64, None): convert_to_int64,
    (Type.INT64, Timestamp.LOGICAL_NAME): timestamp_of,
    (Type.FLOAT32, None): convert_to_float32,
    (Type.FLOAT64, None): convert_to_float64,
}
_MOST_LEVELS = 100
"""Of what is nested deeper, Python's stack decides how much of it can be read."""
TOKEN = re.compile(r'(?:[^\\:,{}\[\]"]+|\\(?:.|\Z))+|.', re.DOTALL)
_NOT_HELD: dict[str | None, str] = {Date.LOGICAL_NAME: Time.LOGICAL_NAME, Time.LOGICAL_NAME: Date.LOGICAL_NAME}


def read_json(text: str) -> Found | None:
    """Return what an array or a map stands for that is JSON; None where its tokens have to be looked at.

    Without escapes Kafka Connect reads it as JSON says, though it loses blank parts of texts. A DataError says that it
    is a text.
    """
    if "\\" in text or text.count("[") + text.count("{") > _MOST_LEVELS:
        return None
    try:
        value, end = _SIMPLE.raw_decode(text)
    except ValueError:
        return None
    return _found(value) if end == len(text) else None


def _found(value: Any) -> Found:
    """Return a value of JSON with its schema; a number has come with it, and so has a map."""
    kind = type(value)
    if kind is tuple:
        found: Found = value
        return found
    if kind is str:
        if value.isalnum():
            return STRING_SCHEMA, value
        return quoted(
            value if value.isidentifier() else "".join([part for part in TOKEN.findall(value) if part.strip(SPACE)])
        )
    if kind is list:
        return array_of([_found(item) for item in value])
    return NULL if value is None else LITERALS["true" if value else "false"]


def _found_number(token: str) -> Found:
    if (found := read_number(token)) is None:
        raise DataError("Failed to parse embedded value")
    return found


def _found_map(pairs: list[tuple[str, Any]]) -> Found:
    names = [name for name, _ in pairs]
    if len(set(names)) == len(names) and "".join(names).replace("_", "").isalnum():
        items, values = _shared([_found(item) for _, item in pairs])
        return _map_schema(STRING_SCHEMA, items), dict(zip(names, values))
    return map_of([(_found(name), _found(item)) for name, item in pairs])


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_SIMPLE = json.JSONDecoder(
    object_pairs_hook=_found_map, parse_int=_found_number, parse_float=_found_number, parse_constant=_refuse
)


def quoted(content: str) -> Found:
    """Return what a text in quotes stands for."""
    return parse_temporal(content) or (STRING_SCHEMA, content)


def array_of(elements: list[Found]) -> Found:
    """Return the array of several elements."""
    common, values = _shared(elements)
    return _array_schema(common), values


def map_of(entries: list[tuple[Found, Found]]) -> Found:
    """Return the map of several entries; a DataError says that it has a map as a key."""
    # Of equal keys the last one wins, in the place of the first; they may become equal only when they are aligned.
    last = {as_key(key[1]): (key, item) for key, item in entries}
    own_keys, own_items = [key for key, _ in last.values()], [item for _, item in last.values()]
    common = _common_schema([key for key, _ in entries])
    items = None if common is None else _held(_common_schema([item for _, item in entries]), own_items)
    values = [_aligned(items, schema, value) for schema, value in own_items]
    keys = _held(common, own_keys)
    if keys is None:
        items, values = None, [_untyped(items, value) for value in values]
    aligned = [as_key(_aligned(keys, schema, key)) for schema, key in own_keys]
    return _map_schema(keys, items), dict(zip(aligned, values))


def _shared(found: list[Found]) -> tuple[Schema | None, list[Any]]:
    """Return the schema that values share, if there is one, and what they are then."""
    common = _held(_common_schema(found), found)
    return common, [value if schema is common else _aligned(common, schema, value) for schema, value in found]


def _array_schema(elements: Schema | None) -> Schema:
    return _ARRAYS.get(id(elements)) or _other_array(elements)


def _map_schema(keys: Schema | None, items: Schema | None) -> Schema:
    known = _MAPS.get(id(items)) if keys is STRING_SCHEMA else None
    return known or _other_map(keys, items)


@lru_cache(maxsize=1000)
def _other_array(elements: Schema | None) -> Schema:
    return Schema(Type.ARRAY, value_schema=elements)


@lru_cache(maxsize=1000)
def _other_map(keys: Schema | None, items: Schema | None) -> Schema:
    return Schema(Type.MAP, key_schema=keys, value_schema=items)


_PLAIN = (None, BOOLEAN_SCHEMA, STRING_SCHEMA, INT8_SCHEMA, INT16_SCHEMA, INT32_SCHEMA, INT64_SCHEMA, FLOAT32_SCHEMA)
_ARRAYS = {id(each): _other_array(each) for each in _PLAIN}
_MAPS = {id(each): _other_map(STRING_SCHEMA, each) for each in _PLAIN}


def _aligned(common: Schema | None, schema: Schema | None, value: Any) -> Any:
    """Return a value as one of the schema it shares with others, or as one that has no schema any more."""
    if schema is common or (type(value) is int and common is not None and common._kind is int):
        return value
    if common is None:
        return _untyped(schema, value)
    value = _brought_to(common, value)
    is_other = common.type in (Type.ARRAY, Type.MAP) and common != schema
    return _untyped(schema, value) if is_other else value


def _untyped(schema: Schema | None, value: Any) -> Any:
    """Return a value that is printed without its schema as with it: 32-bit floats as the shortest of 64 bits."""
    if schema is None or value is None:
        return value
    type_ = schema.type
    if type_ is Type.FLOAT32 and isinstance(value, float):
        return float(number_text(value, schema))
    # Where Kafka Connect let the last of several inner schemas win, a value may be none of it.
    if type_ is Type.ARRAY and isinstance(value, (list, tuple)):
        inner = schema.value_schema
        return value if inner is None else type(value)(_untyped(inner, item) for item in value)
    if type_ is Type.MAP and isinstance(value, dict):
        keys, items = schema.key_schema, schema.value_schema
        return {_untyped(keys, key): _untyped(items, item) for key, item in value.items()}
    return value


def _brought_to(common: Schema, value: Any) -> Any:
    """Return a value of the common schema's type, or of a narrower number's, as one of the common schema."""
    if value is None:
        raise null_error()
    bring = _BRINGING.get((common.type, common.name))
    return value if bring is None else bring(None, value)


def _common_schema(values: list[Found]) -> Schema | None:
    common: Schema | None = None
    for schema, _ in values:
        if schema is None or schema is common:
            continue
        common = schema if common is None else _merged(common, schema)
        if common is None:
            return None
    return common


def _merged(first: Schema, other: Schema) -> Schema | None:
    if first.type is other.type:
        return other  # Kafka Connect lets the last one win, unseen what is inside
    if first.type in _WIDENING and other.type in _WIDENING:
        return first if _WIDENING[first.type] > _WIDENING[other.type] else other
    return None


def _held(common: Schema | None, values: list[Found]) -> Schema | None:
    """Return the common schema, but not a Date's for a Time nor the reverse: Java has one class for both."""
    other = None if common is None or common.name is None else _NOT_HELD.get(common.name)
    return (
        None if other is not None and other in [schema.name for schema, _ in values if schema is not None] else common
    )
