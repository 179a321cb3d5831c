"""Keywords and parameters that map between JSON Schema and Connect schemas."""

from __future__ import annotations

from hearth_api import Schema, Type

NAMESPACE = "io.confluent.connect.json"
ID = f"{NAMESPACE}.Id"
ENUM = f"{NAMESPACE}.Enum"
ONE_OF = f"{NAMESPACE}.OneOf"
ANY_ENUM = "org.apache.kafka.connect.data.Enum"
ANY_UNION = "org.apache.kafka.connect.data.Union"
"""Marks of enums and unions in all formats with `generalized.sum.type.support`."""
VARIANT = "org.apache.kafka.connect.data.Variant"
NULL_MARKER = "<NULL>"
"""The enum symbol for JSON null."""
EXTRAS = "__connect_additional_properties__"
"""The field for additional members with `preserve.additional.properties`."""

INDEX = "connect.index"
VERSION = "connect.version"
TYPE = "connect.type"
PARAMETERS = "connect.parameters"
MAP = "map"
BYTES = "bytes"
KEY_MEMBER, VALUE_MEMBER = "key", "value"
"""The members of a map entry's object, for maps with non-string keys."""


def is_union(schema: Schema) -> bool:
    """Return whether a struct represents a union: the set field is the value."""
    is_marked = schema.parameters is not None and ANY_UNION in schema.parameters
    return schema.type is Type.STRUCT and (schema.name == ONE_OF or is_marked)


def is_variant(schema: Schema) -> bool:
    """Return whether a struct is a variant."""
    return schema.type is Type.STRUCT and schema.name == VARIANT


def is_object_map(schema: Schema) -> bool:
    """Return whether a map is a JSON object, which requires non-null string keys."""
    keys = schema.key_schema if schema.type is Type.MAP else None
    return keys is not None and keys.type is Type.STRING and not keys.optional


def is_extras(name: str, schema: Schema) -> bool:
    """Return whether a field holds the additional members."""
    if name != EXTRAS or schema.type is not Type.MAP:
        return False
    keys, items = schema.key_schema, schema.value_schema
    return keys is not None and keys.type is Type.STRING and items is not None and is_variant(items)
