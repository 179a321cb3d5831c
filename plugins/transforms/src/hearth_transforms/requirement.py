"""What transformations require of data, in Kafka Connect's words, which name Java's classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api import ConnectRecord, DataError, Schema, SinkRecord, SourceRecord, Struct, Type
from hearth_api.java import java_class, java_text

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


def record_text(record: ConnectRecord) -> str:
    """Return Java's text of a record."""
    parts = {
        "topic": f"'{java_text(record.topic)}'",
        "kafkaPartition": java_text(record.kafka_partition),
        "key": java_text(record.key, record.key_schema),
        "keySchema": java_text(record.key_schema),
        "value": java_text(record.value, record.value_schema),
        "valueSchema": java_text(record.value_schema),
        "timestamp": java_text(record.timestamp),
        "headers": _headers_text(record),
    }
    return f"{_origin_text(record)} ConnectRecord{_members(parts)}"


def _origin_text(record: ConnectRecord) -> str:
    if isinstance(record, SinkRecord):
        return "SinkRecord" + _members(
            {
                "kafkaOffset": record.kafka_offset,
                "timestampType": record.timestamp_type.value,
                "originalTopic": record.original_topic,
                "originalKafkaPartition": record.original_kafka_partition,
                "originalKafkaOffset": record.original_kafka_offset,
            }
        )
    if isinstance(record, SourceRecord):
        position = {"sourcePartition": record.source_partition, "sourceOffset": record.source_offset}
        return "SourceRecord" + _members(position)
    return type(record).__name__


def _headers_text(record: ConnectRecord) -> str:
    texts = []
    for header in record.headers:
        value = java_text(header.value, header.schema)
        texts.append(f"ConnectHeader(key={header.key}, value={value}, schema={java_text(header.schema)})")
    return f"ConnectHeaders(headers={'[' + ', '.join(texts) + ']' if texts else ''})"


def _members(parts: Mapping[str, Any]) -> str:
    return f"{{{', '.join(f'{name}={java_text(part)}' for name, part in parts.items())}}}"
