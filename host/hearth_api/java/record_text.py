"""Java's text of records, as in Kafka Connect's messages and logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api.record import ConnectRecord, SinkRecord, SourceRecord
from hearth_api.text import java_text


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
