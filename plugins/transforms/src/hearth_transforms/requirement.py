"""What transformations require of data, in Kafka Connect's words, which name Java's classes."""

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
    """There is no field of that name; Kafka Connect raises one of Java's own errors for it."""

    java_name = "java.lang.IllegalArgumentException"


class NullPointerError(DataError):
    """Something is missing that Kafka Connect uses without a look."""

    java_name = "java.lang.NullPointerException"


def inferred_type(value: Any, transformation: str) -> Type:
    """Return the type of a value that has no schema; Kafka Connect knows none for logical values there."""
    for kind, type_ in _INFERRED:
        if isinstance(value, kind):
            return type_
    raise DataError(
        f"{transformation} transformation was passed a value of type class {java_class(value)}"
        " which is not supported by Connect's data API"
    )


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """Return the value, which has no schema and must be a map."""
    if not isinstance(value, dict):
        found = java_class(value)
        raise DataError(f"Only Map objects supported in absence of schema for [{purpose}], found: {found}")
    return value


def require_struct(value: Any, purpose: str, schema: Schema | None = None) -> Struct:
    """Return the value, which has a schema and must be a struct."""
    if not isinstance(value, Struct):
        found = java_class(value, schema)
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {found}")
    return value


def require_sink_record(record: ConnectRecord, purpose: str) -> SinkRecord:
    """Return the record, which must come from Kafka."""
    if not isinstance(record, SinkRecord):
        found = "org.apache.kafka.connect.source.SourceRecord"
        raise DataError(f"Only SinkRecord supported for [{purpose}], found: {found}")
    return record
