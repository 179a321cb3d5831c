"""Each installed Spark has an archive of its own: the JVM takes none that was made with another class path."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.spark import class_archive
from hearth.spark.class_archive import archive_path, note_owner


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))


def made(spark: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the archive of a Spark that is installed there."""
    monkeypatch.setattr(class_archive, "spark_directory", lambda: spark)
    archive = archive_path()
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_text("classes")
    note_owner(archive)
    return archive


def test_archives_of_sparks_that_are_gone_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are 70 MB each, and environments come and go; that of another Spark which is there stays."""
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    for each in (first, second, third):
        each.mkdir()
    gone, other = made(first, monkeypatch), made(second, monkeypatch)
    assert gone != other
    first.rmdir()
    newest = made(third, monkeypatch)
    assert sorted(newest.parent.glob("*.jsa")) == sorted([other, newest])
    assert len(list(newest.parent.iterdir())) == 4
