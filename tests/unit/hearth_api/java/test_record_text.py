"""Java's text of records, as in Kafka Connect's messages and logs."""

from __future__ import annotations

from hearth_api import INT32_SCHEMA, STRING_SCHEMA, Header, SinkRecord, SourceRecord, TimestampType
from hearth_api.java import record_text


def test_text_of_a_record_of_a_sink() -> None:
    """Missing parts are null; without headers the list is empty."""
    record = SinkRecord("test", 2, STRING_SCHEMA, "k", None, {"a": 1.5}, 77, None, TimestampType.CREATE_TIME)
    assert record_text(record) == (
        "SinkRecord{kafkaOffset=77, timestampType=CreateTime, originalTopic=test, originalKafkaPartition=2, "
        "originalKafkaOffset=77} ConnectRecord{topic='test', kafkaPartition=2, key=k, keySchema=Schema{STRING}, "
        "value={a=1.5}, valueSchema=null, timestamp=null, headers=ConnectHeaders(headers=)}"
    )


def test_text_of_a_record_of_a_source() -> None:
    """With its headers and its source position."""
    headers = [Header("a", STRING_SCHEMA, "x"), Header("b", INT32_SCHEMA, 1), Header("a", None, None)]
    record = SourceRecord({"filename": "f"}, {"position": 5}, "test", None, timestamp=7, headers=headers)
    assert record_text(record) == (
        "SourceRecord{sourcePartition={filename=f}, sourceOffset={position=5}} "
        "ConnectRecord{topic='test', kafkaPartition=null, key=null, keySchema=null, value=null, valueSchema=null, "
        "timestamp=7, headers=ConnectHeaders(headers=[ConnectHeader(key=a, value=x, schema=Schema{STRING}), "
        "ConnectHeader(key=b, value=1, schema=Schema{INT32}), ConnectHeader(key=a, value=null, schema=null)])}"
    )
