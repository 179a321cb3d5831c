"""Names in Avro: validity, scrubbing, and the names of Connect's types."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

from hearth_api import DataError, Schema, Type

NAMESPACE = "io.confluent.connect.avro"
DEFAULT_NAME = f"{NAMESPACE}.ConnectDefault"
ANYTHING = f"{NAMESPACE}.Anything"
MAP_ENTRY = "MapEntry"
UNION = f"{NAMESPACE}.Union"
ENUM = f"{NAMESPACE}.Enum"
VARIANT = "org.apache.kafka.connect.data.Variant"
VARIANT_RECORD, VARIANT_WORD = "confluent.type.Variant", "variant"
"""A variant struct: its name in Connect, the name of its record, and its logical type."""
_VARIANT_FIELDS = {"metadata": Type.BYTES, "value": Type.BYTES}
GENERAL_UNION = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM = "org.apache.kafka.connect.data.Enum"
FIXED_SIZE = "connect.fixed.size"
PRECISION = "connect.decimal.precision"
DEFAULT_PRECISION = 64
RECORD_DOC = f"{NAMESPACE}.record.doc"
FIELD_DOC = f"{NAMESPACE}.field.doc."
ENUM_DOC = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT = f"{NAMESPACE}.enum.default."
FIELD_DEFAULT = f"{NAMESPACE}.field.default"
OLD_RECORD_DOC = "connect.record.doc"
OLD_ENUM_DOC = "connect.enum.doc"
DOC_PROP, VERSION_PROP, PARAMETERS_PROP = "connect.doc", "connect.version", "connect.parameters"
DEFAULT_PROP, NAME_PROP, TYPE_PROP = "connect.default", "connect.name", "connect.type"
INTERNAL_TYPE_PROP = "connect.internal.type"
_FIT = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_INVALID = re.compile("[^A-Za-z0-9_]")


def scrubbed(name: str) -> str:
    """Scrub a name without dots to the characters that Avro allows."""
    if not name or _FIT.fullmatch(name):
        return name
    # Java does not encode these, and encodes an unpaired surrogate as a question mark.
    encoded = quote_plus(name.encode("utf-8", "replace"), safe="-*._").replace("~", "%7E")
    if encoded[0].isdigit():
        encoded = f"x{encoded}"
    return _INVALID.sub("_", encoded)


def scrubbed_full(name: str) -> str:
    """Scrub each part of a dotted name; trailing empty parts are dropped."""
    return ".".join(map(scrubbed, name.rstrip(".").split(".")))


def field_names(schema: Schema, are_scrubbed: bool) -> list[str]:
    """Map the fields of a struct to their names in its record."""
    return [scrubbed(each.name) if are_scrubbed else each.name for each in schema.fields]


def parameter(schema: Schema, name: str) -> str | None:
    """Return a parameter of a schema, or None."""
    return None if schema.parameters is None else schema.parameters.get(name)


def number(schema: Schema, name: str, least: int) -> int | None:
    """Return an integer parameter, or None; raise DataError if it is invalid or too small."""
    text = parameter(schema, name)
    if text is None:
        return None
    try:
        found = int(text)
    except ValueError as error:
        raise DataError(f"parameter {name} of a schema is not a whole number: {text!r}") from error
    if found < least:
        raise DataError(f"parameter {name} of a schema is less than {least}: {text!r}")
    return found


def is_union(schema: Schema) -> bool:
    """Return whether a struct represents a union of its fields' types."""
    return schema.name == UNION or parameter(schema, GENERAL_UNION) is not None


def is_variant(schema: Schema) -> bool:
    """Return whether a struct is a variant."""
    is_named = schema.type is Type.STRUCT and schema.name == VARIANT
    return is_named and {each.name: each.schema.type for each in schema.fields} == _VARIANT_FIELDS


def is_enum(schema: Schema) -> bool:
    """Return whether a string schema is an Avro enum."""
    return schema.type is Type.STRING and not {ENUM, GENERAL_ENUM}.isdisjoint(schema.parameters or ())


def is_fixed(schema: Schema) -> bool:
    """Return whether a bytes schema has a fixed length."""
    return schema.type is Type.BYTES and schema.name is not None and parameter(schema, FIXED_SIZE) is not None
