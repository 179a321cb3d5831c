"""The words by which JSON Schema and Connect schemas tell of each other, and the kinds of Connect schema they mean."""

from __future__ import annotations

from hearth_api import Schema, Type

NAMESPACE = "io.confluent.connect.json"
ID = f"{NAMESPACE}.Id"
ENUM = f"{NAMESPACE}.Enum"
ONE_OF = f"{NAMESPACE}.OneOf"
ANY_ENUM = "org.apache.kafka.connect.data.Enum"
ANY_UNION = "org.apache.kafka.connect.data.Union"
"""What enums and unions of any format are marked by, where `generalized.sum.type.support` is on."""
VARIANT = "org.apache.kafka.connect.data.Variant"
NULL_MARKER = "<NULL>"
"""The symbol of an enum that stands for JSON's null."""
EXTRAS = "__connect_additional_properties__"
"""The field that holds members no schema tells of, where `preserve.additional.properties` is on."""

INDEX = "connect.index"
VERSION = "connect.version"
TYPE = "connect.type"
PARAMETERS = "connect.parameters"
MAP = "map"
BYTES = "bytes"
KEY_MEMBER, VALUE_MEMBER = "key", "value"
"""The members of the objects that the entries of a map are, where its keys are no plain texts."""


def is_union(schema: Schema) -> bool:
    """Tell whether a struct stands for one of several types: the field that is set is the value."""
    is_marked = schema.parameters is not None and ANY_UNION in schema.parameters
    return schema.type is Type.STRUCT and (schema.name == ONE_OF or is_marked)


def is_variant(schema: Schema) -> bool:
    """Tell whether a struct holds any JSON value, as bytes."""
    return schema.type is Type.STRUCT and schema.name == VARIANT


def is_object_map(schema: Schema) -> bool:
    """Tell whether a map is written as a JSON object, which needs keys that are texts and never null."""
    keys = schema.key_schema if schema.type is Type.MAP else None
    return keys is not None and keys.type is Type.STRING and not keys.optional


def is_extras(name: str, schema: Schema) -> bool:
    """Tell whether a field is the one that holds members no schema tells of."""
    if name != EXTRAS or schema.type is not Type.MAP:
        return False
    keys, items = schema.key_schema, schema.value_schema
    return keys is not None and keys.type is Type.STRING and items is not None and is_variant(items)
