"""Prometheus' text format 0.0.4."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hearth.metric.metric_name import MetricName, escaped, names_of
from hearth.metric.sensor import Measurement, Sensor

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class _Family:
    """All values of one name, with the kind and the meaning of the sensor that came first."""

    kind: str
    doc: str
    lines: dict[str, str] = field(default_factory=dict)
    """Values by their labels, so that none is written twice."""


def exposition(measurements: Iterable[Measurement], profiles: Sequence[str]) -> str:
    """Return values under the names of some profiles."""
    families: dict[str, _Family] = {}
    known: dict[Sensor, list[tuple[MetricName, _Family]]] = {}
    labelled: dict[tuple[int, int], str] = {}
    kept: list[object] = []
    for sensor, tags, value in measurements:
        names = known.get(sensor)
        if names is None:
            names = known[sensor] = [
                (each, families.setdefault(each.name, _Family(each.kind, sensor.doc)))
                for each in names_of(sensor, profiles)
            ]
        for name, family in names:
            key = id(tags), id(name.labels) if tags.pairs else id(name)
            labels = labelled.get(key)
            if labels is None:
                labels = labelled[key] = name.labelled(tags)
                kept.append(tags)  # its id stands for it
            text = value if isinstance(value, str) else number(value)
            if name.text_label:
                labels = f'{labels}{"," if labels else ""}{name.text_label}="{escaped(text)}"'
                text = "1"
            family.lines[labels] = text
    return "".join(_text(name, family) for name, family in families.items() if family.lines)


def number(value: float) -> str:
    """Return a number as the text format writes it."""
    if isinstance(value, int):
        return str(int(value))
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _text(name: str, family: _Family) -> str:
    doc = family.doc.replace("\\", "\\\\").replace("\n", "\\n")
    lines = [f"{name}{{{labels}}} {value}" if labels else f"{name} {value}" for labels, value in family.lines.items()]
    return "\n".join((f"# HELP {name} {doc}", f"# TYPE {name} {family.kind}", *lines, ""))
