"""Executors are prewarmed as they come, whatever goes wrong at first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hearth.spark import prewarm


def test_a_first_look_that_fails_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster whose executors cannot be counted yet is looked at again."""
    context: Any = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: False)))
    looks: list[frozenset[str]] = []
    warmed: list[int] = []

    def executors(_context: Any) -> frozenset[str]:
        looks.append(frozenset({"driver", "one"}))
        if len(looks) == 1:
            raise RuntimeError("not yet")
        if len(looks) > 3:
            context._jsc = None
            raise RuntimeError("stopped")
        return looks[-1]

    monkeypatch.setattr(prewarm, "LOOK_SECONDS", 0)
    monkeypatch.setattr(prewarm, "_executors", executors)
    monkeypatch.setattr(prewarm, "prewarm", lambda _context, count: warmed.append(count))
    prewarm.keep_warm(context)
    assert warmed == [2]
