"""What transformations require of data, in Kafka Connect's words, which name Java's classes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from hearth_api import ConnectRecord, DataError, Schema, SinkRecord, Struct, Type

_CLASSES: tuple[tuple[type, str], ...] = (
    (bool, "java.lang.Boolean"),
    (int, "java.lang.Long"),
    (float, "java.lang.Double"),
    (str, "java.lang.String"),
    (bytes, "[B"),
    (list, "java.util.ArrayList"),
    (dict, "java.util.HashMap"),
    (Struct, "org.apache.kafka.connect.data.Struct"),
    (Decimal, "java.math.BigDecimal"),
    (dt.date, "java.util.Date"),
    (dt.time, "java.util.Date"),
)
_SMALL = {
    Type.INT8: "java.lang.Byte",
    Type.INT16: "java.lang.Short",
    Type.INT32: "java.lang.Integer",
    Type.FLOAT32: "java.lang.Float",
}


def java_class(value: Any, schema: Schema | None = None) -> str:
    """Return the class Java has such a value in; the schema tells the sizes of numbers."""
    if value is None:
        return "null"
    if isinstance(value, (int, float)) and schema is not None and schema.type in _SMALL:
        return _SMALL[schema.type]
    return next((name for kind, name in _CLASSES if isinstance(value, kind)), type(value).__qualname__)


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
