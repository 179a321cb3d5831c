"""Names in Avro: what it takes as one, how others are made fit, and what Connect's data is called there."""

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
"""A struct that holds any value as bytes: its name in Connect, that of its record, and the logical type."""
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
_UNFIT = re.compile("[^A-Za-z0-9_]")


def scrubbed(name: str) -> str:
    """Return a name without dots in letters that Avro takes."""
    if not name or _FIT.fullmatch(name):
        return name
    # Java encodes neither these, nor half a character as anything but a question mark.
    encoded = quote_plus(name.encode("utf-8", "replace"), safe="-*._").replace("~", "%7E")
    if encoded[0].isdigit():
        encoded = f"x{encoded}"
    return _UNFIT.sub("_", encoded)


def scrubbed_full(name: str) -> str:
    """Return a name with dots, each part scrubbed; empty parts at the end are left out."""
    return ".".join(map(scrubbed, name.rstrip(".").split(".")))


def field_names(schema: Schema, are_scrubbed: bool) -> list[str]:
    """Return what the fields of a struct are called in its record."""
    return [scrubbed(each.name) if are_scrubbed else each.name for each in schema.fields]


def parameter(schema: Schema, name: str) -> str | None:
    """Return a parameter of a schema, or None."""
    return None if schema.parameters is None else schema.parameters.get(name)


def number(schema: Schema, name: str, least: int) -> int | None:
    """Return a parameter that is a whole number, or None; a DataError where it is none, or too small."""
    told = parameter(schema, name)
    if told is None:
        return None
    try:
        found = int(told)
    except ValueError as error:
        raise DataError(f"parameter {name} of a schema is not a whole number: {told!r}") from error
    if found < least:
        raise DataError(f"parameter {name} of a schema is less than {least}: {told!r}")
    return found


def is_union(schema: Schema) -> bool:
    """Tell whether a struct stands for a union of the types of its fields."""
    return schema.name == UNION or parameter(schema, GENERAL_UNION) is not None


def is_variant(schema: Schema) -> bool:
    """Tell whether a struct holds any value as bytes."""
    is_named = schema.type is Type.STRUCT and schema.name == VARIANT
    return is_named and {each.name: each.schema.type for each in schema.fields} == _VARIANT_FIELDS


def is_enum(schema: Schema) -> bool:
    """Tell whether the texts of a schema may be an enum of Avro."""
    return schema.type is Type.STRING and not {ENUM, GENERAL_ENUM}.isdisjoint(schema.parameters or ())


def is_fixed(schema: Schema) -> bool:
    """Tell whether all bytes of a schema have one length."""
    return schema.type is Type.BYTES and schema.name is not None and parameter(schema, FIXED_SIZE) is not None
