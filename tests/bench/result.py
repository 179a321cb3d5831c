"""What a benchmark case found out, as numbers that can be printed and stored."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Metric:
    """One quantity measured in every run of a side.

    `better` tells which direction is good; `goal` is the ratio of the sides that is to be reached or, with
    `absolute`, the value Hearth itself has to keep.
    """

    name: str
    unit: str
    better: str = "higher"
    goal: float | None = None
    absolute: bool = False
    format: str = "{:,.1f}"


@dataclass
class Result:
    """All runs of one case; `runs[side][metric]` is a list with one value a run.

    The second of the two sides is compared with the first.
    """

    case: str
    title: str
    metrics: Sequence[Metric]
    sides: tuple[str, str] = ("java", "hearth")
    notes: list[str] = field(default_factory=list)
    runs: dict[str, dict[str, list[float]]] = field(init=False)

    def __post_init__(self) -> None:
        """Begin without runs."""
        self.runs = {side: {} for side in self.sides}

    def add(self, side: str, **values: float) -> None:
        """Add the values of one run."""
        for name, value in values.items():
            self.runs[side].setdefault(name, []).append(value)

    def median(self, side: str, metric: str) -> float | None:
        """Return the median of a side's runs, None when it has none."""
        values = self.runs[side].get(metric)
        return statistics.median(values) if values else None

    def ratio(self, metric: Metric) -> float | None:
        """Return how many times better the second side is: the median over the pairs of runs."""
        first, second = (self.runs[side].get(metric.name, []) for side in self.sides)
        pairs = [(ours, theirs) for theirs, ours in zip(first, second, strict=False) if theirs and ours]
        ratios = [ours / theirs if metric.better == "higher" else theirs / ours for ours, theirs in pairs]
        return statistics.median(ratios) if ratios else None

    def is_reached(self, metric: Metric) -> bool | None:
        """Return whether the goal is reached, None when there is no goal or no measurement."""
        value = self.median(self.sides[1], metric.name) if metric.absolute else self.ratio(metric)
        if metric.goal is None or value is None:
            return None
        return value <= metric.goal if metric.absolute and metric.better == "lower" else value >= metric.goal

    def as_json(self) -> dict[str, Any]:
        """Return everything that was measured."""
        return {"case": self.case, "title": self.title, "metrics": [self._row(metric) for metric in self.metrics],
                "notes": self.notes}  # fmt: skip

    def _row(self, metric: Metric) -> dict[str, Any]:
        return {
            "name": metric.name,
            "unit": metric.unit,
            **{side: self.median(side, metric.name) for side in self.sides},
            "ratio": self.ratio(metric),
            "goal": metric.goal,
            "reached": self.is_reached(metric),
            "runs": {side: runs.get(metric.name, []) for side, runs in self.runs.items()},
        }
