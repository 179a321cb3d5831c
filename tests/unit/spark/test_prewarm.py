"""New executors are prewarmed despite errors and uneven distribution of partitions."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.spark import prewarm


@dataclass
class Cluster:
    """Executors at one look after the other, and those whose Python runs each time it is asked for."""

    looks: list[set[str]]
    answers: list[set[tuple[str, int]]]
    asked: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._jsc: Any = SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: False))

    def executors(self, _context: Any) -> frozenset[str]:
        """Return the executors of the next check; raise if they cannot be counted, and end after the last."""
        if not self.looks:
            self._jsc = None
        if not (found := self.looks.pop(0) if self.looks else None):
            raise RuntimeError("not to be counted")
        return frozenset(found)

    def prewarm(self, _context: Any, count: int) -> set[tuple[str, int]]:
        """Answer for those that have run a partition."""
        self.asked.append(count)
        return self.answers.pop(0)


ONE, TWO = {"driver", "one"}, {"driver", "one", "two"}
FIRST, SECOND = ("one", 11), ("two", 12)


@pytest.mark.parametrize(
    ("looks", "answers", "asked"),
    [
        ([set(), ONE, ONE], [{FIRST}], [2]),
        ([TWO, TWO, TWO], [{FIRST, SECOND}], [3]),
        ([TWO, TWO, TWO], [{FIRST}, {FIRST, SECOND}], [3, 3]),
        ([ONE, TWO, TWO, TWO], [{FIRST}, {FIRST}, {SECOND}], [2, 3, 3]),
        ([ONE, TWO, ONE, ONE], [{FIRST}, {FIRST}], [2, 3]),
        ([ONE] + [TWO] * 8, [{FIRST}] * 9, [2] + [3] * prewarm.MOST_TRIES),
    ],
    ids=["counted late", "all answer", "one was not ready", "who is new answers", "gone again", "never answers"],
)
def test_prewarm_repeats_until_each_executor_has_answered(
    monkeypatch: pytest.MonkeyPatch, looks: list[set[str]], answers: list[set[tuple[str, int]]], asked: list[int]
) -> None:
    """Within a limit: where all slots are taken, Python is running already."""
    cluster = Cluster(looks, answers)
    monkeypatch.setattr(prewarm, "LOOK_SECONDS", 0)
    monkeypatch.setattr(prewarm, "_executors", cluster.executors)
    monkeypatch.setattr(prewarm, "prewarm", cluster.prewarm)
    prewarm.keep_warm(cluster)
    assert cluster.asked == asked
