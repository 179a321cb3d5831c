"""Prometheus' text format 0.0.4."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hearth.metric.metric_name import MetricName, escaped, names_of
from hearth.metric.sensor import Measurement, Sensor, Tags

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class _Family:
    """All lines of one name, with the kind and the meaning of the sensor that came first."""

    kind: str
    doc: str
    lines: list[str] = field(default_factory=list)


def exposition(measurements: Iterable[Measurement], profiles: Sequence[str]) -> str:
    """Return values under the names of some profiles.

    A value that has one name in two profiles is written once.
    """
    families: dict[str, _Family] = {}
    known: dict[Sensor, list[tuple[MetricName, list[str], dict[Tags, str]]]] = {}
    labelled: dict[Callable[[str], str], dict[Tags, str]] = {}
    for sensor, tags, value in measurements:
        if (names := known.get(sensor)) is None:
            names = known[sensor] = [
                (
                    each,
                    families.setdefault(each.name, _Family(each.kind, sensor.doc)).lines,
                    {} if each.extra else labelled.setdefault(each.labels, {}),
                )
                for each in names_of(sensor, profiles)
            ]
        text = value if isinstance(value, str) else number(value)
        for name, lines, texts in names:
            if (labels := texts.get(tags)) is None:
                labels = texts[tags] = name.labelled(tags)
            if name.text_label:
                comma = "," if labels else ""
                lines.append(f'{name.name}{{{labels}{comma}{name.text_label}="{escaped(text)}"}} 1')
            else:
                lines.append(f"{name.name}{{{labels}}} {text}" if labels else f"{name.name} {text}")
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
    return "\n".join((f"# HELP {name} {doc}", f"# TYPE {name} {family.kind}", *dict.fromkeys(family.lines), ""))
