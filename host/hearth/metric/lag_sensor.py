"""Sensors of how far a sink is behind, which Kafka Connect leaves to its consumers."""

from __future__ import annotations

from collections.abc import Iterator

from hearth.metric.sensor import OWN, Measurement, Sensor, Tags

_RECORDS = Sensor("", "sink-lag-records", "Records between the committed offset and the end.", domain=OWN)
_SECONDS = Sensor("", "sink-lag-seconds", "For how long the oldest uncommitted record is known, 0: none.", domain=OWN)


def of_partition(connector: str, topic: str, partition: int, records: float, seconds: float) -> Iterator[Measurement]:
    """Yield the lag of one partition."""
    tags = Tags.of(connector=connector, topic=topic, partition=partition)
    yield _RECORDS, tags, records
    yield _SECONDS, tags, seconds
