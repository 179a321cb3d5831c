"""Which limits this machine can enforce."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import hearth.isolation.limit_probe as module
from hearth.isolation.limit_probe import KeptLimit, kept_limits, unkept
from hearth_stage.limit import NO_LIMITS, Limits


def test_every_limit_is_listed_with_its_mechanism(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal has the machine's own message."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / f"hearth-temporary-{os.geteuid()}").touch()
    found = {each.key: each for each in kept_limits()}
    assert list(found) == [
        "plugin.limits.memory.bytes", "plugin.limits.cpus", "plugin.limits.open.files",
        "plugin.limits.temporary.bytes", "plugin.network=none",
        "plugin.processes=own", "plugin.java.home",
    ]  # fmt: skip
    assert found["plugin.limits.open.files"].refusal == ""
    key = "plugin.limits.temporary.bytes"
    assert found[key].refusal.startswith(f"{key} cannot be enforced on")
    monkeypatch.setattr(module, "delegated_group", lambda: tmp_path)
    assert next(kept_limits()).by == f"a control group in {tmp_path}"


def test_refused_limit_is_reported_by_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: each is tried on a process. Others, and none, are not tried."""
    tried: list[Limits] = []

    def refusal(limits: Limits) -> str:
        tried.append(limits)
        return "no"

    monkeypatch.setattr(module, "_refusal", refusal)
    module._known_refusal.cache_clear()
    for _ in range(2):
        assert unkept(NO_LIMITS) == unkept(Limits(64 << 20, 1.0, 100)) == {}
        assert unkept(Limits(has_network=False, has_own_processes=True)) == {
            "plugin.network": "no", "plugin.processes": "no",
        }  # fmt: skip
    assert tried == [Limits(has_network=False), Limits(has_own_processes=True)]
    module._known_refusal.cache_clear()


def test_java_of_java_plugins_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its version; without one, what to do."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="21.0.1"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert [*kept_limits()][-1] == KeptLimit("plugin.java.home", f"by default Java 21, {tmp_path}/bin/java")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "empty"))
    assert "which has no bin/java; unset JAVA_HOME or point it at" in [*kept_limits()][-1].refusal
