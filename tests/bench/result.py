"""A benchmark case's result, as numbers to print and store."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Metric:
    """One quantity measured in every run of a side.

    `better` is the good direction; `goal` is the required ratio of the sides or, with `absolute`, the required value
    of Hearth itself.
    """

    name: str
    unit: str
    better: str = "higher"
    goal: float | None = None
    absolute: bool = False
    format: str = "{:,.1f}"


@dataclass
class Result:
    """All runs of one case; `runs[side][metric]` is a list with one value for each run.

    The second of the two sides is compared with the first.
    """

    case: str
    title: str
    metrics: Sequence[Metric]
    sides: tuple[str, str] = ("java", "hearth")
    notes: list[str] = field(default_factory=list)
    runs: dict[str, dict[str, list[float]]] = field(init=False)

    def __post_init__(self) -> None:
        """Start without runs."""
        self.runs = {side: {} for side in self.sides}

    def add(self, side: str, **values: float) -> None:
        """Add the values of one run."""
        for name, value in values.items():
            self.runs[side].setdefault(name, []).append(value)

    def median(self, side: str, metric: str) -> float | None:
        """Return the median of a side's runs, None without runs."""
        values = self.runs[side].get(metric)
        return statistics.median(values) if values else None

    def ratio(self, metric: Metric) -> float | None:
        """Return how many times better the second side is: the median of the pairs' ratios."""
        first, second = (self.runs[side].get(metric.name, []) for side in self.sides)
        pairs = [(ours, theirs) for theirs, ours in zip(first, second, strict=False) if theirs and ours]
        ratios = [ours / theirs if metric.better == "higher" else theirs / ours for ours, theirs in pairs]
        return statistics.median(ratios) if ratios else None

    def is_reached(self, metric: Metric) -> bool | None:
        """Return whether the goal is reached, None without a goal or a measurement."""
        value = self.median(self.sides[1], metric.name) if metric.absolute else self.ratio(metric)
        if metric.goal is None or value is None:
            return None
        return value <= metric.goal if metric.absolute and metric.better == "lower" else value >= metric.goal

    def as_json(self) -> dict[str, Any]:
        """Return all measurements."""
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
