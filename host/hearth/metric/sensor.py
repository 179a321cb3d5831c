"""Sensors: what is measured, under Kafka Connect's group and name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import repeat
from typing import TypeVar

T = TypeVar("T")

CONNECT, CONSUMER, PRODUCER, ADMIN = "kafka.connect", "kafka.consumer", "kafka.producer", "kafka.admin.client"
OWN = "hearth"
"""Domains, as of Kafka's MBeans; the last one is of what Kafka Connect does not measure."""
PROCESS = "process"


class SensorKind(Enum):
    """What the value of a sensor is."""

    TOTAL = "counter"
    """A number that only grows, from 0 with each run or start."""
    VALUE = "gauge"
    TEXT = "text"


@dataclass(frozen=True, eq=False)
class Sensor:
    """A metric: its domain, group and name, what its value is, and what it means, in one sentence."""

    group: str
    name: str
    doc: str
    kind: SensorKind = SensorKind.VALUE
    domain: str = CONNECT


@dataclass(frozen=True, eq=False)
class Tags:
    """The tags of values, by Kafka's names; share one object for all values of a task."""

    pairs: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, **pairs: str | int) -> Tags:
        """Return tags; an underscore in a name stands for a hyphen."""
        return cls(tuple((name.replace("_", "-"), str(value)) for name, value in pairs.items()))

    def plus(self, **pairs: str | int) -> Tags:
        """Return these and others."""
        return Tags(self.pairs + Tags.of(**pairs).pairs)


NO_TAGS = Tags()

Measurement = tuple[Sensor, Tags, "float | str"]
"""A value of a sensor; a text only of one of that kind."""


def measured(sensors: Iterable[Sensor], tags: Tags, values: Iterable[float | str]) -> Iterable[Measurement]:
    """Return the values of sensors, in their order."""
    return zip(sensors, repeat(tags), values)
