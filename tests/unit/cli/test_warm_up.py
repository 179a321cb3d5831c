"""A warm-up creates one class archive for each program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hearth.broker.broker import broker_jars
from hearth.cli import warm_up
from hearth.foundation.class_archive import MAKING, ClassArchive
from hearth.foundation.java import find_java
from hearth.spark.driver import driver_archive


def test_missing_archives_are_made_in_separate_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By this Python, which calls what the module has; the archives are those that drivers and brokers look for."""
    jars = broker_jars()
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    monkeypatch.setattr(warm_up, "broker_jars", lambda: jars)
    calls: list[str] = []

    def run(command: list[str], env: dict[str, str], **_: Any) -> None:
        python, _option, program = command
        assert python == sys.executable
        calls.append(program.partition("; ")[0])
        Path(env[MAKING]).write_text("classes")

    monkeypatch.setattr(subprocess, "run", run)
    made = warm_up.make_archives()
    assert made == [driver_archive().path, ClassArchive(find_java().executable, jars).path]
    assert warm_up.make_archives() == made
    assert len(calls) == 2
    for each in calls:
        exec(each, {})
