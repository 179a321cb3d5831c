# cython: nonecheck=False
# This module sets attributes only of records that it has just created, so they are never None.
"""Records: sources give them to the host, and the host gives them to sinks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar, NamedTuple, TypeVar

from hearth_api.header import Header, Headers
from hearth_api.schema import Schema

_Record = TypeVar("_Record", bound="ConnectRecord")
_SourceRecord = TypeVar("_SourceRecord", bound="SourceRecord")
_SinkRecord = TypeVar("_SinkRecord", bound="SinkRecord")
_UNCHANGED: Any = object()


class TimestampType(Enum):
    """The origin of a record's timestamp in Kafka; the value is Kafka's name for it."""

    NO_TIMESTAMP_TYPE = "NoTimestampType"
    CREATE_TIME = "CreateTime"
    LOG_APPEND_TIME = "LogAppendTime"


class SchemaAndValue(NamedTuple):
    """A value with its schema; without a schema, the Python type alone describes the value."""

    schema: Schema | None
    value: Any


class TopicPartition(NamedTuple):
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """Return Kafka's text, `topic-0`."""
        return f"{self.topic}-{self.partition}"


class OffsetAndMetadata(NamedTuple):
    """The offset of the next record to read, as committed by a sink."""

    offset: int
    metadata: str = ""


class RecordMetadata(NamedTuple):
    """The location at which Kafka stored a source record."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None = None


_SHARED = {
    **{name: name for name in ("topic", "key_schema", "key", "value_schema", "value", "timestamp")},
    "headers": "_headers",
}


def _own(headers: Iterable[Header] | None) -> Headers | None:
    return headers if headers is None or isinstance(headers, Headers) else Headers(headers)


class ConnectRecord:
    """The common parts of source and sink records; change a record with `new_record`, never in place."""

    __slots__ = (
        "_headers", "kafka_partition", "key", "key_schema", "timestamp", "topic", "value", "value_schema"
    )  # fmt: skip

    _NAMES: ClassVar[Mapping[str, str]] = _SHARED
    """Maps the constructor's arguments to attributes."""

    def __init__(
        self,
        topic: str | None,
        kafka_partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        timestamp: int | None,
        headers: Iterable[Header] | None,
    ) -> None:
        """Store the parts; `timestamp` is in milliseconds since 1970, Headers are kept and not copied."""
        self.topic = topic
        self.kafka_partition = kafka_partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.timestamp = timestamp
        self._headers = _own(headers)

    @property
    def headers(self) -> Headers:
        """Return the headers; the transformation that holds the record may change them in place."""
        if self._headers is None:
            self._headers = Headers()
        return self._headers

    @property
    def has_headers(self) -> bool:
        """Return whether there is at least one header, at no cost."""
        return bool(self._headers)

    def new_record(
        self: _Record,
        topic: str | None = _UNCHANGED,
        kafka_partition: int | None = _UNCHANGED,
        key_schema: Schema | None = _UNCHANGED,
        key: Any = _UNCHANGED,
        value_schema: Schema | None = _UNCHANGED,
        value: Any = _UNCHANGED,
        timestamp: int | None = _UNCHANGED,
        headers: Iterable[Header] | None = _UNCHANGED,
    ) -> _Record:
        """Return a copy with some parts changed, given by the constructor's argument names.

        Headers that are not replaced are duplicated, so each record can change its own.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it is copied")

    def _state(self) -> dict[str, Any]:
        parts = {name: getattr(self, attribute) for name, attribute in self._NAMES.items()}
        return {**parts, "headers": self._headers or None}

    def __eq__(self, other: object) -> bool:
        """Compare all parts."""
        if not isinstance(other, ConnectRecord) or type(self) is not type(other):
            return NotImplemented
        return self._state() == other._state()

    def __hash__(self) -> int:
        """Return a hash of the parts that are always hashable."""
        return hash((self.topic, self.kafka_partition, self.timestamp))

    def __repr__(self) -> str:
        """Return the parts by name."""
        parts = ", ".join(f"{name}={part!r}" for name, part in self._state().items())
        return f"{type(self).__name__}({parts})"


class SourceRecord(ConnectRecord):
    """A record read by a source task, with its position in the source.

    `source_partition` names the part of the source, `source_offset` the position in it after this record; both are
    small JSON-like maps (string keys, primitive values). `kafka_partition` None lets Kafka's producer choose.
    """

    __slots__ = ("source_offset", "source_partition")

    _NAMES: ClassVar[Mapping[str, str]] = {
        name: name for name in ("source_partition", "source_offset", "kafka_partition")
    } | _SHARED

    def __init__(
        self,
        source_partition: Mapping[str, Any] | None,
        source_offset: Mapping[str, Any] | None,
        topic: str | None,
        kafka_partition: int | None = None,
        key_schema: Schema | None = None,
        key: Any = None,
        value_schema: Schema | None = None,
        value: Any = None,
        timestamp: int | None = None,
        headers: Iterable[Header] | None = None,
    ) -> None:
        """Store the parts."""
        self.topic = topic
        self.kafka_partition = kafka_partition
        self.key_schema = key_schema
        self.key = key
        self.value_schema = value_schema
        self.value = value
        self.timestamp = timestamp
        self._headers = headers if headers is None or type(headers) is Headers else _own(headers)
        self.source_partition = source_partition
        self.source_offset = source_offset

    def new_record(
        self: _SourceRecord,
        topic: str | None = _UNCHANGED,
        kafka_partition: int | None = _UNCHANGED,
        key_schema: Schema | None = _UNCHANGED,
        key: Any = _UNCHANGED,
        value_schema: Schema | None = _UNCHANGED,
        value: Any = _UNCHANGED,
        timestamp: int | None = _UNCHANGED,
        headers: Iterable[Header] | None = _UNCHANGED,
        source_partition: Mapping[str, Any] | None = _UNCHANGED,
        source_offset: Mapping[str, Any] | None = _UNCHANGED,
    ) -> _SourceRecord:
        """Return a copy with some parts changed, as `ConnectRecord.new_record` does."""
        kind = type(self)  # usually this class, which compiled code creates directly
        record: Any = SourceRecord.__new__(SourceRecord) if kind is SourceRecord else kind.__new__(kind)
        record.topic = self.topic if topic is _UNCHANGED else topic
        record.kafka_partition = self.kafka_partition if kafka_partition is _UNCHANGED else kafka_partition
        record.key_schema = self.key_schema if key_schema is _UNCHANGED else key_schema
        record.key = self.key if key is _UNCHANGED else key
        record.value_schema = self.value_schema if value_schema is _UNCHANGED else value_schema
        record.value = self.value if value is _UNCHANGED else value
        record.timestamp = self.timestamp if timestamp is _UNCHANGED else timestamp
        if headers is not _UNCHANGED:
            record._headers = _own(headers)
        else:
            record._headers = None if self._headers is None else self._headers.duplicate()
        record.source_partition = self.source_partition if source_partition is _UNCHANGED else source_partition
        record.source_offset = self.source_offset if source_offset is _UNCHANGED else source_offset
        return record  # type: ignore[no-any-return]


class SinkRecord(ConnectRecord):
    """A record read from Kafka for a sink task.

    Transformations may change topic and partition; the `original_` attributes hold where the record was read, and
    offsets are committed by those. `consumed` belongs to the host, which uses it to dead-letter the record as it was
    read, however late it is reported. Copies made with `new_record` keep it.
    """

    __slots__ = (
        "consumed", "kafka_offset", "original_kafka_offset", "original_kafka_partition", "original_topic",
        "timestamp_type",
    )  # fmt: skip

    _NAMES: ClassVar[Mapping[str, str]] = {
        "partition": "kafka_partition",
        **{name: name for name in ("kafka_offset", "timestamp_type")},
        **{f"original_{name}": f"original_{name}" for name in ("topic", "kafka_partition", "kafka_offset")},
        **_SHARED,
    }

    def __init__(
        self,
        topic: str,
        partition: int | None,
        key_schema: Schema | None,
        key: Any,
        value_schema: Schema | None,
        value: Any,
        kafka_offset: int,
        timestamp: int | None = None,
        timestamp_type: TimestampType = TimestampType.NO_TIMESTAMP_TYPE,
        headers: Iterable[Header] | None = None,
        original_topic: str | None = None,
        original_kafka_partition: int | None = None,
        original_kafka_offset: int | None = None,
    ) -> None:
        """Store the parts; original parts that are omitted default to the current ones."""
        super().__init__(topic, partition, key_schema, key, value_schema, value, timestamp, headers)
        self.consumed: Any = None
        self.kafka_offset = kafka_offset
        self.timestamp_type = timestamp_type
        self.original_topic = topic if original_topic is None else original_topic
        self.original_kafka_partition = partition if original_kafka_partition is None else original_kafka_partition
        self.original_kafka_offset = kafka_offset if original_kafka_offset is None else original_kafka_offset

    def new_record(
        self: _SinkRecord,
        topic: str | None = _UNCHANGED,
        kafka_partition: int | None = _UNCHANGED,
        key_schema: Schema | None = _UNCHANGED,
        key: Any = _UNCHANGED,
        value_schema: Schema | None = _UNCHANGED,
        value: Any = _UNCHANGED,
        timestamp: int | None = _UNCHANGED,
        headers: Iterable[Header] | None = _UNCHANGED,
        partition: int | None = _UNCHANGED,
        kafka_offset: int = _UNCHANGED,
        timestamp_type: TimestampType = _UNCHANGED,
        original_topic: str | None = _UNCHANGED,
        original_kafka_partition: int | None = _UNCHANGED,
        original_kafka_offset: int | None = _UNCHANGED,
    ) -> _SinkRecord:
        """Return a copy with some parts changed; `kafka_partition` is accepted for `partition`."""
        kind = type(self)  # usually this class, which compiled code creates directly
        record: Any = SinkRecord.__new__(SinkRecord) if kind is SinkRecord else kind.__new__(kind)
        if kafka_partition is _UNCHANGED:
            kafka_partition = partition
        record.topic = self.topic if topic is _UNCHANGED else topic
        record.kafka_partition = self.kafka_partition if kafka_partition is _UNCHANGED else kafka_partition
        record.key_schema = self.key_schema if key_schema is _UNCHANGED else key_schema
        record.key = self.key if key is _UNCHANGED else key
        record.value_schema = self.value_schema if value_schema is _UNCHANGED else value_schema
        record.value = self.value if value is _UNCHANGED else value
        record.timestamp = self.timestamp if timestamp is _UNCHANGED else timestamp
        if headers is not _UNCHANGED:
            record._headers = _own(headers)
        else:
            record._headers = None if self._headers is None else self._headers.duplicate()
        record.kafka_offset = self.kafka_offset if kafka_offset is _UNCHANGED else kafka_offset
        record.timestamp_type = self.timestamp_type if timestamp_type is _UNCHANGED else timestamp_type
        record.consumed = self.consumed
        if original_topic is _UNCHANGED:
            original_topic = self.original_topic
        if original_kafka_partition is _UNCHANGED:
            original_kafka_partition = self.original_kafka_partition
        if original_kafka_offset is _UNCHANGED:
            original_kafka_offset = self.original_kafka_offset
        # An original part set to None falls back to the current one.
        present: Any = record.topic
        record.original_topic = present if original_topic is None else original_topic
        record.original_kafka_partition = (
            record.kafka_partition if original_kafka_partition is None else original_kafka_partition
        )
        record.original_kafka_offset = record.kafka_offset if original_kafka_offset is None else original_kafka_offset
        return record  # type: ignore[no-any-return]
