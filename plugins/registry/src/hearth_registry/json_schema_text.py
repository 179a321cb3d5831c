"""Writes Connect schemas as JSON Schema text, identical to that of the Java converter.

Members have the print order of Everit's schemas, those of maps the order of Java's hash tables. Numbers have passed
through JSON once: 1.0 is `1`, and 1.0E20 is `1.0E+20`.
"""

from __future__ import annotations

import decimal
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from hearth_api import DataError, Decimal, Schema, Type
from hearth_api.java import hash_ordered
from hearth_registry import json_schema_word as word
from hearth_registry.json_payload_writer import JsonPayloadWriter
from hearth_registry.json_schema_setting import JsonSchemaSettings

_INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
_FLOATS = (Type.FLOAT32, Type.FLOAT64)
_ESCAPED = re.compile('["\\\\\x00-\x1f]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_NULL = '{"type":"null"}'
_Members = list[tuple[str, str]]


class JsonSchemaWriter:
    """Writes Connect schemas as JSON Schemas and caches the most recent ones."""

    def __init__(self, settings: JsonSchemaSettings, values: JsonPayloadWriter) -> None:
        """Use the given writer for defaults."""
        self._settings = settings
        self._values = values
        self.text: Callable[[Schema], str] = lru_cache(maxsize=settings.schemas_cache_size)(self._text)

    def _text(self, schema: Schema) -> str:
        """Return the text of a schema; raise DataError for an invalid default."""
        return _Text(self._settings, self._values).schema(schema)


class _Text:
    """A text in progress, and the ids of its schemas that are referenced."""

    def __init__(self, settings: JsonSchemaSettings, values: JsonPayloadWriter) -> None:
        self._settings = settings
        self._values = values
        self._ids: set[str] = set()

    def schema(self, schema: Schema, index: int | None = None) -> str:
        """Return a schema; an optional one is a `oneOf` of null and itself, which carries the index."""
        id_ = _id_of(schema)
        if schema.is_reference and (id_ is None or id_ in self._ids):
            raise DataError(
                f"a recursive schema has no JSON Schema without an id: {schema.name}",
                hint=f"its parameter {word.ID} gives it an id, by which fields and items of arrays refer to it",
            )
        if id_ is not None:
            self._ids.add(id_)
        if not schema.optional or word.is_union(schema):
            return _object(self._members(schema, index, id_))
        inner = self._members(schema, None, id_ if schema.type is Type.STRUCT else None)
        return _object([*_id(id_), *_index(index), ("oneOf", f"[{_NULL},{_object(inner)}]")])

    def _members(self, schema: Schema, index: int | None, id_: str | None) -> _Members:
        """Return the members of a schema, ignoring optionality."""
        if word.is_union(schema) and not word.is_variant(schema):
            return [*_id(id_), *_index(index), ("oneOf", self._choices(schema))]
        before, parts = self._parts(schema)
        return [*before, *self._common(schema), *_id(id_), *self._properties(schema, index), *parts]

    def _parts(self, schema: Schema) -> tuple[_Members, _Members]:
        """Return the members before and after the common ones."""
        type_ = schema.type
        if type_ is Type.STRUCT:
            return self._struct(schema)
        if type_ is Type.MAP:
            return self._map(schema)
        if type_ is Type.ARRAY:
            return [("type", '"array"')], [("items", self._reference(schema.value_schema))]
        if type_ is Type.BOOLEAN:
            return [], [("type", '"boolean"')]
        if type_ is Type.STRING and (symbols := self._symbols(schema)) is not None:
            return [("enum", symbols)], []
        return [("type", f'"{self._scalar(schema)}"')], []

    def _scalar(self, schema: Schema) -> str:
        if schema.type in _INTEGERS:
            return "integer"
        is_decimal = schema.name == Decimal.LOGICAL_NAME and schema.type is Type.BYTES
        is_number = is_decimal and self._settings.decimal_format.upper() == "NUMERIC"
        return "number" if is_number or schema.type in _FLOATS else "string"

    def _symbols(self, schema: Schema) -> str | None:
        parameters = schema.parameters or {}
        if word.ENUM not in parameters and word.ANY_ENUM not in parameters:
            return None
        prefix = f"{word.ANY_ENUM if self._settings.generalized_sum_type_support else word.ENUM}."
        symbols = [name[len(prefix) :] for name in parameters if name.startswith(prefix)]
        found = [None if symbol == word.NULL_MARKER else symbol for symbol in symbols]
        return (
            f"[{','.join('null' if item is None else literal(item) for item in hash_ordered(dict.fromkeys(found)))}]"
        )

    def _choices(self, schema: Schema) -> str:
        null = [_NULL] if schema.optional else []
        return f"[{','.join(null + [self._choice(field.schema, field.index) for field in schema.fields])}]"

    def _choice(self, schema: Schema, index: int) -> str:
        id_ = _id_of(schema)
        if id_ is not None:
            self._ids.add(id_)
        return _object(self._members(schema, index, id_))

    def _struct(self, schema: Schema) -> tuple[_Members, _Members]:
        if word.is_variant(schema):
            return [], []
        before: _Members = [("type", '"object"')]
        if not self._settings.additional_properties:
            before.append(("additionalProperties", "false"))
        properties: dict[str, str] = {}
        for field in schema.fields:
            if not (self._settings.preserve_additional_properties and word.is_extras(field.name, field.schema)):
                properties[field.name] = self._reference(field.schema, field.index)
        return before, [("properties", _object(list(hash_ordered(properties).items())))] if properties else []

    def _map(self, schema: Schema) -> tuple[_Members, _Members]:
        keys, items = schema.key_schema, schema.value_schema
        assert keys is not None
        assert items is not None
        if word.is_object_map(schema):
            return [("type", '"object"')], [("additionalProperties", self.schema(items))]
        entry = {word.KEY_MEMBER: self.schema(keys, 0), word.VALUE_MEMBER: self.schema(items, 1)}
        members = _object(list(hash_ordered(entry).items()))
        return [("type", '"array"')], [("items", _object([("type", '"object"'), ("properties", members)]))]

    def _reference(self, schema: Schema | None, index: int | None = None) -> str:
        """Return a schema, or a reference if its id was written already."""
        assert schema is not None
        id_ = _id_of(schema)
        return (
            _object([("$ref", literal(id_))]) if id_ is not None and id_ in self._ids else self.schema(schema, index)
        )

    def _common(self, schema: Schema) -> _Members:
        members: _Members = []
        if schema.name is not None:
            members.append(("title", literal(schema.name)))
        if schema.doc is not None:
            members.append(("description", literal(schema.doc)))
        if schema.default is not None:
            default = json.loads(self._values.text(schema, schema.default), parse_float=_number)
            members.append(("default", _default(default)))
        return members

    def _properties(self, schema: Schema, index: int | None) -> _Members:
        members = _index(index)
        if schema.version is not None:
            members.append((word.VERSION, str(schema.version)))
        if (type_ := _connect_type(schema)) is not None:
            members.append((word.TYPE, f'"{type_}"'))
        parameters = {
            name: literal(text)
            for name, text in (schema.parameters or {}).items()
            if not name.startswith(word.NAMESPACE)
        }
        if parameters:
            ordered = hash_ordered(hash_ordered(parameters), capacity=len(parameters))
            members.append((word.PARAMETERS, _object(list(ordered.items()))))
        return members


def literal(text: str) -> str:
    """Return a JSON string with only the necessary escapes."""
    return f'"{_ESCAPED.sub(lambda match: _SHORT.get(match[0]) or f"{chr(92)}u{ord(match[0]):04X}", text)}"'


def _object(members: _Members) -> str:
    return f"{{{','.join([f'{literal(name)}:{text}' for name, text in members])}}}"


def _id_of(schema: Schema) -> str | None:
    return None if schema.parameters is None else schema.parameters.get(word.ID)


def _id(id_: str | None) -> _Members:
    return [] if id_ is None else [("id", literal(id_))]


def _index(index: int | None) -> _Members:
    return [] if index is None else [(word.INDEX, str(index))]


def _connect_type(schema: Schema) -> str | None:
    is_implied = schema.type in (Type.BOOLEAN, Type.STRING, Type.ARRAY, Type.STRUCT)
    return None if is_implied else str(schema.type.value)


def _default(value: Any) -> str:
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(_default, value))}]"
    if isinstance(value, Mapping):
        return _object([(name, _default(item)) for name, item in hash_ordered(value).items()])
    return literal(value) if isinstance(value, str) else json.dumps(value)


def _number(text: str) -> decimal.Decimal:
    """Return a Java number after its conversion to JSON without trailing zeros and to BigDecimal."""
    is_plain = "E" not in text
    return decimal.Decimal(text.rstrip("0").rstrip(".") if is_plain else text)
