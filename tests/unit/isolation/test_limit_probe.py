"""Which limits this machine lets a host keep."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import hearth.isolation.limit_probe as module
from hearth.isolation.limit_probe import kept_limits


def test_every_limit_is_told_with_what_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine refuses is told in its words."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / f"hearth-temporary-{os.geteuid()}").touch()
    found = {each.key: each for each in kept_limits()}
    assert list(found) == [
        "plugin.limits.memory.bytes", "plugin.limits.cpus", "plugin.limits.open.files",
        "plugin.limits.temporary.bytes", "plugin.network=none",
    ]  # fmt: skip
    assert found["plugin.limits.open.files"].refusal == ""
    assert found["plugin.limits.temporary.bytes"].refusal.startswith("plugin.limits.temporary.bytes cannot be kept on")
    monkeypatch.setattr(module, "delegated_group", lambda: tmp_path)
    assert next(kept_limits()).by == f"a control group in {tmp_path}"
