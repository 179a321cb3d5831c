"""The archive of the driver's classes is made once, and never left half-made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hearth.spark import rehearsal
from hearth.spark.class_archive import MAKING


class Programs:
    """Notes the programs that are run, each of which writes an archive and ends as told."""

    def __init__(self, error: Exception | None = None) -> None:
        self.commands: list[list[str]] = []
        self._error = error

    def run(self, command: list[str], env: dict[str, str], **options: Any) -> None:
        """Run a program, which knows from its environment what to write."""
        assert options["check"]
        self.commands.append(command)
        Path(env[MAKING]).write_text("classes")
        if self._error is not None:
            raise self._error


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Say where the archive lies, in a directory that is not there yet."""
    path = tmp_path / "spark" / "driver.jsa"
    monkeypatch.setattr(rehearsal, "archive_path", lambda: path)
    return path


def test_archive_is_made_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By this Python, in a process of its own: classes are written when a JVM ends."""
    programs = Programs()
    monkeypatch.setattr(subprocess, "run", programs.run)
    assert [rehearsal.make_archive(), rehearsal.make_archive()] == [path, path]
    assert path.read_text() == "classes"
    ((program, *_),) = programs.commands
    assert program == sys.executable


@pytest.mark.parametrize("error", [subprocess.CalledProcessError(1, "java"), subprocess.TimeoutExpired("java", 1)])
def test_archive_of_a_rehearsal_that_failed_is_not_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """Every later driver would map it; without one they only start slower."""
    monkeypatch.setattr(subprocess, "run", Programs(error).run)
    with pytest.raises(type(error)):
        rehearsal.make_archive()
    assert list(path.parent.iterdir()) == []
