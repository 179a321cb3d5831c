"""Reading a value and its type from text, with Kafka Connect's rules and oddities.

This is how Kafka Connect reads header values, so the oddities reach users: `00123` is the number 123, `1.10`
the float 1.1, `[1] x` the array `[1]`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
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
from hearth_api.java.scalar_text import LITERALS, NULL, SPACE, Found, read_number, read_scalar
from hearth_api.java.temporal import parse_temporal
from hearth_api.logical import Date, Time, Timestamp
from hearth_api.record import SchemaAndValue
from hearth_api.schema import BOOLEAN_SCHEMA, STRING_SCHEMA, Schema, Type
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
_TOKEN = re.compile(r'(?:[^\\:,{}\[\]"]+|\\(?:.|\Z))+|.', re.DOTALL)
_NOT_HELD: dict[str | None, str] = {Date.LOGICAL_NAME: Time.LOGICAL_NAME, Time.LOGICAL_NAME: Date.LOGICAL_NAME}


def parse_string(text: str | None) -> SchemaAndValue:
    """Return the value a text stands for, with its schema; a text that stands for nothing else is a STRING.

    None and the text `null` give no schema and no value. Arrays and maps of mixed types have no inner
    schema. A map whose key is a map, which Python has no hash for, stays a STRING.
    """
    return SchemaAndValue(*(NULL if text is None else read_scalar(text) or _read(text)))


def parse_strings(texts: Iterable[str | None]) -> tuple[list[Schema | None], list[Any]]:
    """Return the schemas of many texts and their values, as `parse_string` tells them."""
    schemas: list[Schema | None] = []
    values: list[Any] = []
    for text in texts:
        schema, value = NULL if text is None else read_scalar(text) or _read(text)
        schemas.append(schema)
        values.append(value)
    return schemas, values


def _read(text: str) -> Found:
    """Return what a text stands for whose first character does not tell it."""
    if text[0] in "[{" and "\\" not in text and text.count("[") + text.count("{") < _DEEP:
        try:
            value, end = _SIMPLE.raw_decode(text)
            if end == len(text):
                return _found(value)
        except ValueError:
            pass
        except DataError:
            return STRING_SCHEMA, text
    return _Parser(text).parse()


def _found(value: Any) -> Found:
    """Return a value of JSON with its schema; a number has come with it, and so has a map."""
    kind = type(value)
    if kind is tuple:
        found: Found = value
        return found
    if kind is str:
        return _quoted(
            value if value.isalnum() else "".join([each for each in _TOKEN.findall(value) if each.strip(SPACE)])
        )
    if kind is list:
        return _aligned_array([_found(item) for item in value])
    return NULL if value is None else (BOOLEAN_SCHEMA, value)


def _found_number(token: str) -> Found:
    if (found := read_number(token)) is None:
        raise DataError("Failed to parse embedded value")
    return found


def _found_map(pairs: list[tuple[str, Any]]) -> Found:
    return _aligned_map([(_found(key), _found(item)) for key, item in pairs])


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _quoted(content: str) -> Found:
    return parse_temporal(content) or (STRING_SCHEMA, content)


_SIMPLE = json.JSONDecoder(
    object_pairs_hook=_found_map, parse_int=_found_number, parse_float=_found_number, parse_constant=_refuse
)
"""Reads JSON without escapes, which Kafka Connect reads as JSON, though it loses blank parts of texts."""
_DEEP = 100
"""Of what is nested so deep, Python's stack decides how much of it can be read."""


class _Parser:
    """Reads one value; a DataError inside, for what is not well-formed, makes the whole text a STRING.

    The text is cut at delimiters; a backslash takes the meaning of the next character away and is kept. Blank tokens
    are lost, unless the text ends with them.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = self.tokens = _TOKEN.findall(text)
        self.bare: list[str | None] = [token.strip(SPACE) for token in self.all]
        self.places: Sequence[int] = range(len(self.all))
        """Where the tokens stand among all."""
        if "" in self.bare[:-1]:
            self.places = [place for place in self.places if self.bare[place] or place == len(self.all) - 1]
            self.tokens, self.bare = ([each[place] for place in self.places] for each in (self.all, self.bare))
        self.bare.append(None)
        self.position = 0

    def parse(self) -> Found:
        """Read the whole text."""
        token, bare = self.tokens[0], self.bare[0]
        self.position = 1
        # On its own a literal must be all there is: `true}` is a text.
        if bare in LITERALS and self.bare[1] is None:
            return LITERALS[bare]
        try:
            if bare == "[":
                return self._array()
            if bare == "{":
                return self._map()
        except DataError:
            # It is read again as a text, from the blank token before it if there is one.
            token, bare = self.all[0], self.all[0].strip(SPACE)
        if not bare:
            return STRING_SCHEMA, token
        found = self._scalar(bare)
        return (STRING_SCHEMA, self.text) if found is None or found[0] is STRING_SCHEMA else found

    def _inner(self) -> Found:
        """Read the next value of an array or map, where texts are quoted."""
        position = self.position
        bare = self.bare[position]
        if bare is None:
            return NULL
        self.position = position + 1
        if bare == '"':
            return self._quoted()
        if bare == "[":
            return self._array()
        if bare == "{":
            return self._map()
        if not bare:
            return STRING_SCHEMA, self.tokens[position]
        found = LITERALS.get(bare) or self._scalar(bare)
        if found is None:
            raise DataError("Failed to parse embedded value")
        return found

    def _scalar(self, token: str) -> Found | None:
        starts_with_digit = token[0].isdecimal() and token[0] <= "\uffff"
        found = self._temporal(token) if starts_with_digit else None
        if found is None and (starts_with_digit or token[0] in "+-"):
            found = read_number(token)
        return found

    def _temporal(self, token: str) -> Found | None:
        # Colons are delimiters, so a time of day may be spread over five tokens.
        start = self.places[self.position - 1] + 1
        rest = self.all[start : start + 4]
        if len(rest) == 4 and (found := parse_temporal(token + "".join(rest))):
            self.position = bisect_left(self.places, start + 4)
            return found
        return parse_temporal(token)

    def _quoted(self) -> Found:
        bare, start = self.bare, self.position
        end = start
        while bare[end] is not None and bare[end] != '"':
            end += 1
        self.position = end if bare[end] is None else end + 1
        return _quoted("".join(self.tokens[start:end]))

    def _array(self) -> Found:
        elements: list[Found] = []
        while (bare := self.bare[self.position]) is not None:
            if bare == "]":
                self.position += 1
                return _aligned_array(elements)
            if bare == ",":
                raise DataError(f"Unable to parse an empty array element: {self.text}")
            elements.append(self._inner())
            bare = self.bare[self.position]
            if bare == ",":
                self.position += 1
            elif bare != "]":
                raise DataError("Array elements missing ',' delimiter")
        raise DataError(f"Array is missing terminating ']': {self.text}")

    def _map(self) -> Found:
        entries: list[tuple[Found, Found]] = []
        while (bare := self.bare[self.position]) is not None:
            if bare == "}":
                self.position += 1
                return _aligned_map(entries)
            if bare == ",":
                raise DataError(f"Unable to parse a map entry with no key or value: {self.text}")
            key = self._inner()
            if key[1] is None:
                raise DataError(f"Map entry may not have a null key: {self.text}")
            if self.bare[self.position] != ":":
                raise DataError(f"Map entry is missing ':' in {self.text}")
            self.position += 1
            entries.append((key, self._inner()))
            if self.bare[self.position] == ",":
                self.position += 1
        raise DataError(f"Map is missing terminating '}}': {self.text}")


def _aligned_array(elements: list[Found]) -> Found:
    common = _held(_common_schema(elements), elements)
    return _array_schema(common), [_aligned(common, element) for element in elements]


def _aligned_map(entries: list[tuple[Found, Found]]) -> Found:
    # Of equal keys the last one wins, in the place of the first; they may become equal only when they are aligned.
    last = {key[1] if type(key[1]) is str else as_key(key[1]): (key, item) for key, item in entries}
    own_keys, own_items = [key for key, _ in last.values()], [item for _, item in last.values()]
    is_single = len(last) == len(entries)
    common = _common_schema(own_keys if is_single else [key for key, _ in entries])
    items = None
    if common is not None:
        items = _held(_common_schema(own_items if is_single else [item for _, item in entries]), own_items)
    values = [_aligned(items, item) for item in own_items]
    keys = _held(common, own_keys)
    if keys is None:
        items, values = None, [_untyped(items, value) for value in values]
    elif all(schema is keys for schema, _ in own_keys):
        return _map_schema(keys, items), dict(zip(last, values))
    aligned = [as_key(_aligned(keys, key)) for key in own_keys]
    return _map_schema(keys, items), dict(zip(aligned, values))


@lru_cache(maxsize=1000)
def _array_schema(elements: Schema | None) -> Schema:
    return Schema(Type.ARRAY, value_schema=elements)


@lru_cache(maxsize=1000)
def _map_schema(keys: Schema | None, items: Schema | None) -> Schema:
    return Schema(Type.MAP, key_schema=keys, value_schema=items)


def _aligned(common: Schema | None, element: Found) -> Any:
    """Return a value as one of the schema it shares with others, or as one that has no schema any more."""
    schema, value = element
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
