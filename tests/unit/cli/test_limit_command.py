"""`hearth limits` as a table and as JSON."""

from __future__ import annotations

import json

import pytest

import hearth.isolation.limit_probe as probe
from hearth.cli.main import run
from hearth.isolation.limit_probe import KeptLimit


def test_limit_that_cannot_be_enforced_has_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails a pipeline only where that asks it to."""
    monkeypatch.setattr(
        probe, "kept_limits", lambda: iter([KeptLimit("a", "rlimits"), KeptLimit("b", "x", "not here")])
    )
    assert run(["limits"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        ["a", "yes", "rlimits"], ["b", "no", "not", "here"],
    ]  # fmt: skip
    assert run(["limits", "--json", "--strict"]) == 1
    assert json.loads(capsys.readouterr().out) == [
        {"key": "a", "by": "rlimits", "kept": True, "reason": ""},
        {"key": "b", "by": "x", "kept": False, "reason": "not here"},
    ]
