"""MessageTimestampRouter: derives the topic from a timestamp in the value.

As documented by Confluent, where the value must be a map; this class also accepts a struct.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hearth_api import DataError, Importance, Schema, Settings, Struct, ValidList, key
from hearth_api.batch import Batch, BatchTransformation, column_to_values
from hearth_transforms.date_format import format_of
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.requirement import require_map
from hearth_transforms.route import routed
from hearth_transforms.side import VALUE, R
from hearth_transforms.time_kind import MILLIS, Notation, kind_of_value

_PURPOSE = "topic routing by a timestamp of the message"


class MessageTimestampRouterConfig(Settings):
    """Settings of MessageTimestampRouter."""

    topic_format: str = key(
        "topic.format",
        default="${topic}-${timestamp}",
        importance=Importance.HIGH,
        doc="The new topic; ${topic} is replaced by the present topic and ${timestamp} by the formatted time.",
    )
    message_timestamp_keys: list[str] = key(
        "message.timestamp.keys",
        check=ValidList(empty_allowed=False),
        importance=Importance.HIGH,
        doc="Names of the fields of the value with the time; the first one that is present and not null is used.",
    )
    message_timestamp_format: str = key(
        "message.timestamp.format",
        default="",
        importance=Importance.HIGH,
        doc="The format of a time that is a string, in UTC: a pattern of Java's SimpleDateFormat. A number is"
        " milliseconds since 1970.",
    )
    topic_timestamp_format: str = key(
        "topic.timestamp.format",
        default="yyyyMMdd",
        importance=Importance.HIGH,
        doc="The format of the time in the topic, in UTC: a pattern of Java's SimpleDateFormat.",
    )


class MessageTimestampRouter(KafkaPlugin, BatchTransformation):
    """Derives the topic of a record from its old topic and a timestamp field of its value."""

    settings = MessageTimestampRouterConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the names of the fields and the formats."""
        config = MessageTimestampRouterConfig(configs)
        self._names = config.message_timestamp_keys
        pattern = config.message_timestamp_format
        self._notation = Notation(
            format_of("message.timestamp.format", pattern, is_read=True) if pattern.strip() else None, MILLIS
        )
        self._format = format_of("topic.timestamp.format", config.topic_timestamp_format)
        self._topic_format = config.topic_format
        self._routed = lru_cache(maxsize=1000)(self._route)

    def apply(self, record: R) -> R:
        """Return the record with its new topic."""
        return record.new_record(topic=self._topic(record.topic, record.value_schema, record.value))

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Return a batch for each run of records with the same new topic."""
        from hearth_transforms import struct_column as columns

        schema = batch.value_schema
        values = column_to_values(schema, columns.side_column(VALUE, batch))
        return routed(batch, [self._topic(batch.topic, schema, value) for value in values])

    def _topic(self, topic: str | None, schema: Schema | None, value: Any) -> str:
        if topic is None:
            raise DataError("a record without topic cannot be routed")
        found = self._time(value)
        millis = kind_of_value(found).millis(found, self._notation, schema)
        return self._routed(topic, millis // self._format.step)

    def _time(self, value: Any) -> Any:
        """Return the timestamp in the value of a record."""
        fields = value.schema.fields if isinstance(value, Struct) else ()
        present = {field.name: value.get(field) for field in fields if field.name in self._names}
        present = present if isinstance(value, Struct) else require_map(value, _PURPOSE)
        for name in self._names:
            if present.get(name) is not None:
                return present[name]
        raise DataError(f"no time is found in the value: all of {', '.join(self._names)} are missing or null")

    def _route(self, topic: str, step: int) -> str:
        timestamp = self._format.print(step * self._format.step)
        return self._topic_format.replace("${topic}", topic).replace("${timestamp}", timestamp)
