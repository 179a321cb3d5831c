"""Converts JSON payloads to Connect values by schema.

The readers of Kafka's JsonConverter handle scalars and columns. This module handles maps with non-string keys, unions,
variants and missing members.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from typing import Any

from hearth_api import DataError, Schema, Struct, Type
from hearth_api.java import hash_ordered
from hearth_json.tree import read_tree
from hearth_json.value_reader import ValueReader, kind_of, text_of
from hearth_registry import json_schema_word as word
from hearth_registry.json_payload_writer import json_settings
from hearth_registry.json_schema_setting import JsonSchemaSettings
from hearth_registry.schema_format import PayloadError
from hearth_registry.variant import variant_of

ABSENT = object()
"""Marks a missing member."""
_INTEGERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)
_FLOATS = (Type.FLOAT32, Type.FLOAT64)


class JsonPayloadReader:
    """Reads JSON trees into values, one at a time: the plain form."""

    def __init__(self, settings: JsonSchemaSettings) -> None:
        """Keep the settings."""
        self._scalars = ValueReader(json_settings(settings, replaces_null=True))
        self._keeps_extras = settings.preserve_additional_properties

    def value(self, schema: Schema, tree: Any) -> Any:
        """Return the value of a tree; raise DataError if it cannot be converted."""
        if tree is ABSENT or tree is None:
            return self._null(schema, tree)
        if schema.type is Type.STRUCT:
            return self._of_struct(schema, tree)
        if schema.type is Type.ARRAY:
            items = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
            return [self.value(inner_schema(schema), item) for item in items]
        if schema.type is Type.MAP:
            return self._map(schema, tree)
        value = self._scalars.value(schema, tree)
        if value is None and schema.type is Type.BYTES:
            raise DataError(f"Invalid type for BYTES: a JSON value of kind {kind_of(tree)}")
        return value

    def payload(self, schema: Schema, payload: bytes) -> Any:
        """Return the value of a payload; raise `PayloadError` if it is not JSON."""
        try:
            tree = read_tree(payload)
        except DataError as error:
            raise PayloadError("payload is not JSON") from error
        try:
            return self.value(schema, tree)
        except RecursionError as error:
            raise PayloadError("the payload is nested too deeply") from error

    def _null(self, schema: Schema, tree: Any) -> Any:
        if schema.default is not None:
            return schema.default
        if tree is ABSENT or schema.optional:
            return None
        raise DataError(f"Invalid null value for required {schema.type} field")

    def _of_struct(self, schema: Schema, tree: Any) -> Struct:
        if word.is_variant(schema):
            return variant_of(schema, tree)
        if word.is_union(schema):
            return self._union(schema, tree)
        if not isinstance(tree, dict):
            raise DataError(f"Structs should be encoded as JSON objects, but found {kind_of(tree)}")
        struct = Struct(schema)
        extras = schema.field(word.EXTRAS) if self._keeps_extras else None
        for field in schema.fields:
            if field is not extras and (value := self.value(field.schema, tree.get(field.name, ABSENT))) is not None:
                struct.put(field, value)
        if extras is not None and (others := self._extras(schema, extras.schema, tree)):
            struct.put(extras, others)
        return struct

    def _extras(self, schema: Schema, extras: Schema, tree: dict[str, Any]) -> dict[str, Struct]:
        if word.EXTRAS in tree:
            raise DataError(
                f"JSON payload contains a property named '{word.EXTRAS}' which collides with the reserved field"
                " name for preserve.additional.properties=true. Rename the property in the source data or disable the"
                " config."
            )
        others = {name: item for name, item in tree.items() if schema.field(name) is None}
        return {text_of(name): variant_of(inner_schema(extras), item) for name, item in others.items()}

    def _union(self, schema: Schema, tree: Any) -> Struct:
        best, most = None, 0
        for field in schema.fields:
            if _is_simply(field.schema, tree):
                best = field
                break
            if (count := _matching(field.schema, tree)) > most:
                best, most = field, count
        if best is None:
            raise DataError("Did not find matching oneof field for data")
        return Struct(schema).put(best, self.value(best.schema, tree))

    def _map(self, schema: Schema, tree: Any) -> dict[Any, Any]:
        keys, items = schema.key_schema, inner_schema(schema)
        assert keys is not None
        if word.is_object_map(schema):
            if not isinstance(tree, dict):
                raise DataError(
                    f"Maps with string fields should be encoded as JSON objects, but found {kind_of(tree)}"
                )
            return hash_ordered({text_of(name): self.value(items, item) for name, item in tree.items()}, keys)
        if not isinstance(tree, list):
            raise DataError(
                f"Maps with non-string fields should be encoded as JSON array of objects, but found {kind_of(tree)}"
            )
        return hash_ordered(dict(self._entry(keys, items, entry) for entry in tree), keys)

    def _entry(self, keys: Schema, items: Schema, entry: Any) -> tuple[Any, Any]:
        if not isinstance(entry, dict):
            raise DataError(f"Found invalid map entry instead of object: {kind_of(entry)}")
        if len(entry) != 2:
            raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
        key = self.value(keys, entry.get(word.KEY_MEMBER, ABSENT))
        if isinstance(key, (list, dict)):
            raise DataError("a map whose keys are arrays or maps cannot be held in Python")
        return key, self.value(items, entry.get(word.VALUE_MEMBER, ABSENT))


def _is_simply(schema: Schema, tree: Any) -> bool:
    """Return whether a JSON value has the kind of a schema without fields."""
    type_ = schema.type
    if type_ in _INTEGERS:
        return isinstance(tree, int) and not isinstance(tree, bool)
    if type_ in _FLOATS:
        return isinstance(tree, (int, decimal.Decimal)) and not isinstance(tree, bool)
    if type_ is Type.BOOLEAN:
        return isinstance(tree, bool)
    if type_ is Type.STRING:
        return isinstance(tree, str)
    if type_ is Type.BYTES:
        return isinstance(tree, decimal.Decimal)
    if type_ is Type.ARRAY:
        return isinstance(tree, list)
    return type_ is Type.MAP and isinstance(tree, (list, dict))


def _matching(schema: Schema, tree: Any) -> int:
    """Count the members of an object that are fields of a struct, including nested ones."""
    if schema.type is not Type.STRUCT or not isinstance(tree, Mapping):
        return 0
    return sum(1 + _matching(field.schema, tree[field.name]) for field in schema.fields if field.name in tree)


def inner_schema(schema: Schema) -> Schema:
    """Return the value schema of an array or map."""
    inner = schema.value_schema
    assert inner is not None
    return inner
