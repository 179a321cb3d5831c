"""The names under which dashboards query metrics: those of four exporters of Kafka Connect's.

- ``reporter``: Strimzi's Metrics Reporter, and the JMX exporter without rules.
- ``strimzi``: the JMX exporter with the rules of Strimzi's examples.
- ``confluent``: the JMX exporter with the rules of Confluent's monitoring stacks, new and old.
- ``debezium``: the JMX exporter with the rules of Debezium's examples.

What Kafka Connect does not measure has one name in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hearth.metric.sensor import ADMIN, CONNECT, CONSUMER, OWN, PROCESS, PRODUCER, Sensor, SensorKind, Tags


@dataclass(frozen=True)
class MetricName:
    """A name of a sensor in an exporter, and how its tags and its text are written as labels.

    With a ``text_label`` the sensor's value is that label's, and 1 is written; ``labels`` maps tags to labels, and
    ``extra`` are further ones where there are no tags.
    """

    name: str
    kind: str
    labels: Callable[[str], str]
    text_label: str = ""
    extra: tuple[tuple[str, str], ...] = ()

    def labelled(self, tags: Tags) -> str:
        """Return the labels of tags, as they are written."""
        pairs = [*((self.labels(name), value) for name, value in tags.pairs), *(self.extra if not tags.pairs else ())]
        return ",".join(f'{name}="{escaped(value)}"' for name, value in pairs)


def escaped(text: str) -> str:
    """Return the value of a label as the text format writes it."""
    if "\\" in text or '"' in text or "\n" in text:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return text


def _snake(text: str) -> str:
    return text.replace("-", "_").replace(".", "_").lower()


def _joined(text: str) -> str:
    return text.replace("-", "").lower()


def _without_total(name: str) -> str:
    return name.removesuffix("_total")


def _reporter(sensor: Sensor) -> Iterator[MetricName]:
    whole = f"{_snake(sensor.domain)}_{_snake(sensor.group)}_{_snake(sensor.name)}"
    if sensor.kind is SensorKind.TEXT:
        yield MetricName(f"{whole}_info", "gauge", _snake, _snake(sensor.name))
    else:
        yield MetricName(_without_total(whole), "gauge", _snake)


def _confluent(sensor: Sensor) -> Iterator[MetricName]:
    group, name = _snake(sensor.group), _snake(sensor.name)
    if sensor.group == "app-info":
        for whole in ("kafka_connect_app", "kafka_connect_app_info"):
            yield MetricName(whole, "gauge", _snake, name)
    elif sensor.kind is SensorKind.TEXT:
        yield MetricName(f"{_snake(sensor.domain)}_{group}", "gauge", _snake, name)
    else:
        whole = f"{_snake(sensor.domain)}_{group}_{name}"
        extra = (("connector", "aggregate"),) if sensor.group == "connect-worker-metrics" else ()
        for each in dict.fromkeys((_without_total(whole), whole)):
            yield MetricName(each, "gauge", _snake, extra=extra)


def _strimzi(sensor: Sensor) -> Iterator[MetricName]:
    name, start = _snake(sensor.name), sensor.group.removesuffix("-metrics")
    if sensor.group == "app-info":
        whole = "kafka_connect_start_time_ms" if sensor.kind is not SensorKind.TEXT else f"kafka_connect_{name}_info"
        yield MetricName(whole, "gauge", _joined, name)
        return
    is_prefixed = sensor.domain != CONNECT or start == "connect" or start.startswith("connect-")
    whole = f"kafka_{_snake(start)}_{name}" if is_prefixed else f"kafka_connect_{_snake(start)}_{name}"
    if sensor.kind is SensorKind.TEXT:
        yield MetricName(whole, "gauge", _joined, name)
    else:
        yield MetricName(whole, sensor.kind.value, _joined)


def _debezium(sensor: Sensor) -> Iterator[MetricName]:
    if sensor.kind is SensorKind.TEXT or sensor.domain != CONNECT:
        return
    if sensor.group in ("connect-worker-metrics", "connect-metrics"):
        whole = f"kafka_{_snake(sensor.group)}_{_snake(sensor.name)}"
        yield MetricName(whole, "gauge", lambda tag: "client" if tag == "client-id" else _snake(tag))


def _one_name(sensor: Sensor) -> Iterator[MetricName]:
    """Yield the name of what is measured here alone, and of the process."""
    name = _snake(sensor.name)
    if sensor.kind is SensorKind.TEXT:
        yield MetricName(f"{sensor.domain}_{name}_info", "gauge", _snake, name)
    else:
        yield MetricName(f"{sensor.domain}_{name}", sensor.kind.value, _snake)


PROFILES: dict[str, Callable[[Sensor], Iterator[MetricName]]] = {
    "reporter": _reporter,
    "strimzi": _strimzi,
    "confluent": _confluent,
    "debezium": _debezium,
}
DEFAULT_PROFILE = "reporter"


_DEBEZIUM = "debezium."
_DEBEZIUM_LABELS = {"server": "name", "key": "table"}
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_]")


def _debezium_label(tag: str) -> str:
    return _DEBEZIUM_LABELS.get(tag, _snake(tag))


def _of_bean(sensor: Sensor, profiles: Sequence[str]) -> Iterator[MetricName]:
    """Yield the names of an attribute of an MBean: as the JMX exporter writes it without rules, and Debezium's."""
    name, text = _ILLEGAL.sub("_", sensor.name), "value" if sensor.kind is SensorKind.TEXT else ""
    if sensor.domain.startswith(_DEBEZIUM) and not text and {"debezium", "confluent"} & {*profiles}:
        yield MetricName(f"debezium_metrics_{name}", "gauge", _debezium_label)
    if not {"debezium", "confluent"} >= {*profiles} or not sensor.domain.startswith(_DEBEZIUM):
        whole = "_".join(filter(None, (_snake(sensor.domain), _snake(sensor.group), name)))
        yield MetricName(_ILLEGAL.sub("_", whole), "gauge", _snake, text)


def names_of(sensor: Sensor, profiles: Sequence[str]) -> list[MetricName]:
    """Return the names of a sensor in some profiles, without repetitions."""
    if sensor.domain in (OWN, PROCESS):
        return list(_one_name(sensor))
    if sensor.domain not in (CONNECT, CONSUMER, PRODUCER, ADMIN):
        return list(_of_bean(sensor, profiles))
    return [each for profile in profiles for each in PROFILES[profile](sensor)]
