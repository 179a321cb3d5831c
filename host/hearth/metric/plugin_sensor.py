"""Sensors of plugins: what they register themselves (KIP-877), and the MBeans of Java's plugins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from hearth.metric.sensor import CONNECT, Measurement, Sensor, SensorKind, Tags
from hearth_stage.plugin_call import Metric

PLUGINS = "plugins"
"""Kafka's group of the metrics that plugins register."""
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


def of_plugins(connector: str, task: int, metrics: Iterable[Metric]) -> list[Measurement]:
    """Return the values of a task's plugins, but for those that have none now.

    An MBean's domain is that of the sensor, its `type` the group; the last word of the domain is the tag `plugin`.
    """
    found: list[Measurement] = []
    for each in metrics:
        value = each.value
        if value is None:
            continue
        kind = SensorKind.TEXT if isinstance(value, str) else SensorKind.VALUE
        own = [(_ILLEGAL.sub("_", name), text) for name, text in each.tags.items()]
        if each.group == PLUGINS:
            sensor = _sensor(CONNECT, PLUGINS, each.name, each.description, kind)
            pairs = [("connector", connector), ("task", str(task)), *own]
        else:
            sensor = _sensor(each.group, each.tags.get("type", ""), each.name, each.description, kind)
            others = [pair for pair in own if pair[0] not in ("type", "connector", "plugin")]
            pairs = [("connector", connector), ("plugin", each.group.rpartition(".")[2]), *others]
        found.append((sensor, Tags(tuple(pairs)), value if isinstance(value, str) else value + 0))
    return found


@lru_cache(maxsize=4096)
def _sensor(domain: str, group: str, name: str, doc: str, kind: SensorKind) -> Sensor:
    return Sensor(group, name, doc, kind, domain)
