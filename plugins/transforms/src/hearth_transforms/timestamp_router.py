"""TimestampRouter: derives the topic from the record's timestamp."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hearth_api import DataError, Importance, Settings, key
from hearth_api.batch import Batch, BatchTransformation, Declined
from hearth_api.java import record_text
from hearth_transforms.date_format import format_of
from hearth_transforms.plugin import KafkaPlugin
from hearth_transforms.route import rerouted
from hearth_transforms.side import R


class TimestampRouterConfig(Settings):
    """Settings of TimestampRouter."""

    topic_format: str = key(
        "topic.format",
        default="${topic}-${timestamp}",
        importance=Importance.HIGH,
        doc="The new topic; ${topic} is replaced by the present topic and ${timestamp} by the formatted time.",
    )
    timestamp_format: str = key(
        "timestamp.format",
        default="yyyyMMdd",
        importance=Importance.HIGH,
        doc="The format of the time, in UTC: a pattern of Java's SimpleDateFormat.",
    )


class TimestampRouter(KafkaPlugin, BatchTransformation):
    """Derives the topic of a record from its old topic and its timestamp."""

    settings = TimestampRouterConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Parse the formats."""
        config = TimestampRouterConfig(configs)
        self._format = format_of("timestamp.format", config.timestamp_format)
        self._topic_format = config.topic_format
        self._step = self._format.step
        self._routed = lru_cache(maxsize=1000)(self._route)

    def apply(self, record: R) -> R:
        """Return the record with its new topic."""
        if record.timestamp is None:
            raise DataError(f"Timestamp missing on record: {record_text(record)}")
        if record.topic is None:
            raise DataError("a record without topic cannot be routed")
        return record.new_record(topic=self._routed(record.topic, record.timestamp // self._step))

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Return a batch for each run of records with the same new topic; the original topic is kept."""
        from hearth_transforms import struct_column as columns

        batch = batch.stamped()
        timestamps = batch.column("timestamp")
        if batch.topic is None or timestamps is None or timestamps.null_count:
            return NotImplemented
        routed = []
        for part in columns.runs(batch, columns.steps(timestamps, self._step)):
            step = part.column("timestamp")[0].as_py() // self._step
            routed.append(rerouted(part, self._routed(batch.topic, step)))
        return routed

    def _route(self, topic: str, step: int) -> str:
        timestamp = self._format.print(step * self._step)
        return self._topic_format.replace("${topic}", topic).replace("${timestamp}", timestamp)
