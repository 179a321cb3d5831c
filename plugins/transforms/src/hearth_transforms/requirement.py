"""Checks of the data that transformations require, with Kafka Connect's messages, which name Java classes."""

from __future__ import annotations

from typing import Any

from hearth_api import ConnectRecord, DataError, Schema, SinkRecord, Struct, Type
from hearth_api.java import java_class

_INFERRED: tuple[tuple[type, Type], ...] = (
    (bool, Type.BOOLEAN),
    (int, Type.INT64),
    (float, Type.FLOAT64),
    (str, Type.STRING),
    (bytes, Type.BYTES),
    (list, Type.ARRAY),
    (dict, Type.MAP),
    (Struct, Type.STRUCT),
)


class UnknownFieldError(DataError):
    """A field does not exist; Kafka Connect raises a Java exception outside its own hierarchy."""

    java_name = "java.lang.IllegalArgumentException"


class NullPointerError(DataError):
    """A value is missing that Kafka Connect dereferences without a check."""

    java_name = "java.lang.NullPointerException"


def inferred_type(value: Any, transformation: str) -> Type:
    """Return the type of a value without schema; Kafka Connect has none for logical values."""
    for kind, type_ in _INFERRED:
        if isinstance(value, kind):
            return type_
    raise DataError(
        f"{transformation} transformation was passed a value of type class {java_class(value)}"
        " which is not supported by Connect's data API"
    )


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """Return a value without schema, which must be a map."""
    if not isinstance(value, dict):
        found = java_class(value)
        raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {found}")
    return value


def require_struct(value: Any, purpose: str, schema: Schema | None = None) -> Struct:
    """Return a value with a schema, which must be a struct."""
    if not isinstance(value, Struct):
        found = java_class(value, schema)
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {found}")
    return value


def require_sink_record(record: ConnectRecord, purpose: str) -> SinkRecord:
    """Return the record, which must be a sink record."""
    if not isinstance(record, SinkRecord):
        found = "org.apache.kafka.connect.source.SourceRecord"
        raise DataError(f"Only SinkRecord supported for [{purpose}], found: {found}")
    return record
