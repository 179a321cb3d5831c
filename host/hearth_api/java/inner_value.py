"""Values inside arrays and maps: each with its schema, and the schema they share.

This module is compiled. It recurses to at most a hundred levels of JSON, or as deep as `values` could parse, which is
Python and has a frame for each level.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

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
from hearth_api.java.scalar_text import LITERALS, SPACE, Found, read_number, whole_number
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
    id(type_): rank
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
_FLOAT32, _ARRAY, _MAP = Type.FLOAT32, Type.ARRAY, Type.MAP  # looking up an Enum member is slow
_MOST_LEVELS = 100
"""The nesting limit here; deeper values go to the Python parser, whose limit is Python's stack."""
TOKEN = re.compile(r'(?:[^\\:,{}\[\]"]+|\\(?:.|\Z))+|.', re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LONG = 19
"""Numbers with fewer digits fit 64 bits."""
_NOT_HELD: dict[str | None, str] = {Date.LOGICAL_NAME: Time.LOGICAL_NAME, Time.LOGICAL_NAME: Date.LOGICAL_NAME}


def read_json(text: str) -> Found | None:
    """Return the value of an array or a map written in JSON; None if it must be parsed by tokens.

    Without escapes, Kafka Connect parses it as JSON, except that it drops blank parts of texts. Raises a DataError if
    the text is a string.
    """
    scanner = JsonScanner(text)
    found = scanner.value()
    return found if scanner.at == len(text) else None


class JsonScanner:
    """Parses JSON values without escapes; None means that a value is not such JSON."""

    __slots__ = ("at", "level", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = self.level = 0

    def value(self) -> Found | None:
        """Read the next value."""
        char = self._visible()
        if char == '"':
            return self._text()
        if char == "[":
            return self._array()
        if char == "{":
            return self._map()
        if char == "-" or "0" <= char <= "9":
            return self._number()
        literal = "true" if char == "t" else "false" if char == "f" else "null"
        if not self.text.startswith(literal, self.at):
            return None
        self.at += len(literal)
        return LITERALS[literal]

    def _opens(self, closing: str) -> bool:
        """Enter an array or a map; return whether it has a first element that can be parsed."""
        self.at += 1
        self.level += 1
        return self.level <= _MOST_LEVELS and self._visible() != closing

    def _goes_on(self) -> bool:
        """Skip a comma; return whether there was one."""
        if self._visible() != ",":
            return False
        self.at += 1
        return True

    def _closes(self, closing: str) -> bool:
        """Leave an array or a map; return whether it ends here."""
        if self.level > _MOST_LEVELS or self._visible() != closing:
            return False
        self.at += 1
        self.level -= 1
        return True

    def _visible(self) -> str:
        """Skip blanks and return the next character; at the end, one that JSON does not use."""
        text, at, end = self.text, self.at, len(self.text)
        while at < end and text[at] in " \t\n\r":
            at += 1
        self.at = at
        return text[at] if at < end else "\0"

    def _text(self) -> Found | None:
        """Read a string, which has no character that JSON requires to be escaped."""
        text, start = self.text, self.at + 1
        end = text.find('"', start)
        if end < 0:
            return None
        self.at = end + 1
        is_blank, has_dash, has_delimiter = start < end, False, False
        for place in range(start, end):
            char = text[place]
            if char < " " or char == "\\":
                return None
            if char > " ":
                is_blank = False
                has_dash = has_dash or char == "-"
                has_delimiter = has_delimiter or char in ":,[]{}"
        content = "" if is_blank else text[start:end]
        if has_delimiter:
            content = "".join([part for part in TOKEN.findall(content) if part.strip(SPACE)])
        return quoted(content) if has_dash or has_delimiter else (STRING_SCHEMA, content)

    def _number(self) -> Found | None:
        text, start, end = self.text, self.at, len(self.text)
        first = start + 1 if text[start] == "-" else start
        most, at, number, char = min(end, first + _LONG), first, 0, "\0"
        while at < most:
            char = text[at]
            if not "0" <= char <= "9":
                break
            number = 10 * number + ord(char) - ord("0")
            at += 1
        if first < at < most and char not in ".eE" and (text[first] != "0" or at == first + 1):
            self.at = at
            return whole_number(-number if first > start else number)
        match = _NUMBER.match(text, start)
        if match is None:
            return None
        self.at = match.end()
        if (found := read_number(match[0])) is None:
            raise DataError("Failed to parse embedded value")
        return found

    def _array(self) -> Found | None:
        elements: list[Found] = []
        is_more = self._opens("]")
        while is_more:
            found = self.value()
            if found is None:
                return None
            elements.append(found)
            is_more = self._goes_on()
        return array_of(elements) if self._closes("]") else None

    def _map(self) -> Found | None:
        keys: list[Found] = []
        items: list[Found] = []
        is_more = self._opens("}")
        while is_more:
            key = self._text() if self._visible() == '"' else None
            if key is None or self._visible() != ":":
                return None
            self.at += 1
            item = self.value()
            if item is None:
                return None
            keys.append(key)
            items.append(item)
            is_more = self._goes_on()
        return _map_of_texts(keys, items) if self._closes("}") else None


def _map_of_texts(keys: list[Found], items: list[Found]) -> Found:
    """Return the map of several entries; the keys are nearly always distinct texts."""
    made: dict[str, Any] = {}
    for place in range(len(keys)):
        schema, name = keys[place]
        if schema is STRING_SCHEMA:
            made[name] = None
    if not 0 < len(made) == len(keys):
        return map_of([*zip(keys, items)])
    common, values = _shared(items)
    for place in range(len(keys)):
        made[keys[place][1]] = values[place]
    return _map_schema(STRING_SCHEMA, common), made


def quoted(content: str) -> Found:
    """Return the value of a text in quotes."""
    return parse_temporal(content) or (STRING_SCHEMA, content)


def array_of(elements: list[Found]) -> Found:
    """Return the array of several elements."""
    common, values = _shared(elements)
    return _array_schema(common), values


def map_of(entries: list[tuple[Found, Found]]) -> Found:
    """Return the map of several entries; a map as a key raises a DataError."""
    # Of equal keys the last one wins, in the place of the first; aligning may make keys equal.
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
    """Return the common schema of values, if any, and the values converted to it."""
    common = _held(_common_schema(found), found)
    values = []
    for schema, value in found:
        values.append(value if schema is common else _aligned(common, schema, value))
    return common, values


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
_UNTYPED = {
    id(schema)
    for each in _PLAIN
    if each is not FLOAT32_SCHEMA
    for schema in (each, _other_array(each), _other_map(STRING_SCHEMA, each))
}
"""Schemas whose values print the same without a schema."""


def _aligned(common: Schema | None, schema: Schema | None, value: Any) -> Any:
    """Return a value converted to the common schema, or to no schema."""
    if schema is common or (type(value) is int and common is not None and common._kind is int):
        return value
    if common is None:
        return _untyped(schema, value)
    value = _brought_to(common, value)
    is_other = (common.type is _ARRAY or common.type is _MAP) and common != schema
    return _untyped(schema, value) if is_other else value


def _untyped(schema: Schema | None, value: Any) -> Any:
    """Return a value that prints the same without its schema: 32-bit floats as the shortest 64-bit float."""
    if schema is None or value is None or id(schema) in _UNTYPED:
        return value
    type_ = schema.type
    if type_ is _FLOAT32 and isinstance(value, float):
        return float(number_text(value, schema))
    # Kafka Connect lets the last of several inner schemas win, so a value may not fit it.
    if type_ is _ARRAY and isinstance(value, (list, tuple)):
        inner = schema.value_schema
        return value if inner is None else type(value)(_untyped(inner, item) for item in value)
    if type_ is _MAP and isinstance(value, dict):
        keys, items = schema.key_schema, schema.value_schema
        return {_untyped(keys, key): _untyped(items, item) for key, item in value.items()}
    return value


def _brought_to(common: Schema, value: Any) -> Any:
    """Return a value of the common schema's type, or of a narrower number type, as one of the common schema."""
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
    type_, another = first.type, other.type
    if type_ is another:
        return other  # Kafka Connect lets the last one win, whatever their inner schemas
    rank, wider = _WIDENING.get(id(type_)), _WIDENING.get(id(another))
    if rank is None or wider is None:
        return None
    return first if rank > wider else other


def _held(common: Schema | None, values: list[Found]) -> Schema | None:
    """Return the common schema, except a Date's for a Time or the reverse: Java has one class for both."""
    if id(common) in _ARRAYS:
        return common
    other = None if common is None or common.name is None else _NOT_HELD.get(common.name)
    return (
        None if other is not None and other in [schema.name for schema, _ in values if schema is not None] else common
    )
