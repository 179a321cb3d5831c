"""Writes values as JSON payloads where they differ from Kafka's JsonConverter, whose writers do the rest.

A map with non-string keys is an array of objects, a union is the bare value of its set field, and a null that its
schema forbids is omitted from a struct and written elsewhere.
"""

from __future__ import annotations

import re
from typing import Any

from hearth_api import Schema, Struct, Type
from hearth_json.literal import string_literal
from hearth_json.setting import JsonConverterSettings
from hearth_json.value_writer import ValueWriter
from hearth_registry import json_schema_word as word
from hearth_registry.json_schema_setting import JsonSchemaSettings
from hearth_registry.variant import variant_text

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s",:{}\[\]]+|[,:{}\[\]]')
_AROUND = {":": " : "}


class JsonPayloadWriter(ValueWriter):
    """Writes values as JSON text, one at a time: the plain form, which the column form must match."""

    def __init__(self, settings: JsonSchemaSettings) -> None:
        """Keep the settings."""
        super().__init__(json_settings(settings, not settings.ignore_default_for_nullables))
        self._keeps_extras = settings.preserve_additional_properties
        self._ignores_defaults = settings.ignore_default_for_nullables

    def text(self, schema: Schema | None, value: Any) -> str:
        """Return a value as JSON text; raise DataError if it does not fit the schema."""
        if value is None or schema is None or schema.type.is_primitive or schema.type is Type.ARRAY:
            return super().text(schema, value)
        if schema.type is Type.MAP and not word.is_object_map(schema) and isinstance(value, dict):
            return self._entries(schema, value)
        if schema.type is Type.STRUCT and isinstance(value, Struct):
            return self._by_kind(schema, value)
        return super().text(schema, value)

    def null(self, schema: Schema | None) -> str:
        """Return the text of a null: the default, or JSON null even if it is not allowed."""
        if schema is not None and schema.default is not None and not self._ignores_defaults:
            return self.text(schema, schema.default)
        return "null"

    def is_left_out(self, schema: Schema) -> bool:
        """Return whether a struct omits a null field of this schema."""
        return not schema.optional and (schema.default is None or self._ignores_defaults)

    def is_regular(self, schema: Schema) -> bool:
        """Return whether values of a schema have the JSON of Kafka's JsonConverter, apart from nulls."""
        if schema.type is Type.MAP:
            return word.is_object_map(schema)
        if schema.type is not Type.STRUCT:
            return True
        is_special = word.is_union(schema) or word.is_variant(schema)
        return not is_special and not (self._keeps_extras and schema.field(word.EXTRAS) is not None)

    def _by_kind(self, schema: Schema, value: Struct) -> str:
        if word.is_variant(schema):
            return variant_text(value)
        if value.schema is schema or value.schema == schema:
            if word.is_union(schema):
                return self._union(schema, value)
            if not self.is_regular(schema) or None in value.raw_values():
                return self._struct_with_gaps(schema, value)
        return super().text(schema, value)

    def _union(self, schema: Schema, value: Struct) -> str:
        for field in schema.fields:
            item = value.get_without_default(field) if self._ignores_defaults else value.get(field)
            if item is not None:
                return self.text(field.schema, item)
        return self.text(schema, None)

    def _struct_with_gaps(self, schema: Schema, value: Struct) -> str:
        members: dict[str, str] = {}
        extras: dict[str, Struct] = {}
        for field, item in zip(schema.fields, value.raw_values()):
            if self._keeps_extras and word.is_extras(field.name, field.schema):
                extras = item or {}
            elif item is not None or not self.is_left_out(field.schema):
                members[field.name] = self.text(field.schema, item)
        members.update((name, variant_text(item)) for name, item in extras.items())
        return f"{{{','.join([f'{string_literal(name)}:{text}' for name, text in members.items()])}}}"

    def _entries(self, schema: Schema, value: dict[Any, Any]) -> str:
        keys, items = schema.key_schema, schema.value_schema
        pairs = [(self.text(keys, key), self.text(items, item)) for key, item in value.items()]
        texts = [f'{{"{word.KEY_MEMBER}":{key},"{word.VALUE_MEMBER}":{item}}}' for key, item in pairs]
        return f"[{','.join(texts)}]"


def json_settings(settings: JsonSchemaSettings, replaces_null: bool) -> JsonConverterSettings:
    """Return the settings of JsonConverter, without the replacement of nulls by defaults."""
    return JsonConverterSettings(
        {
            "converter.type": "value",
            "schemas.enable": "false",
            "schemas.cache.size": str(settings.schemas_cache_size),
            "decimal.format": settings.decimal_format,
            "replace.null.with.default": str(replaces_null).lower(),
        }
    )


def indented(text: str) -> str:
    """Format JSON text like Jackson's pretty printer; arrays stay on one line."""
    parts: list[str] = []
    opened: list[str] = []
    before = ""
    for token in _TOKEN.findall(text):
        closed = opened.pop() if token in ("}", "]") else None
        inside = closed or (opened[-1] if opened and before in ("{", "[", ",") else None)
        if inside is not None:
            is_line = inside == "{" and before != token and not (closed and before == closed)
            parts.append(f"\n{'  ' * opened.count('{')}" if is_line else " ")
        parts.append(_AROUND.get(token, token))
        if token in ("{", "["):
            opened.append(token)
        before = token
    return "".join(parts)
