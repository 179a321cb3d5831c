"""Archives of Java's classes: one for each Java and class path, used where it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.broker.process import QUICK_START
from tests.java_archive import java_archive, start_options


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a jar, and a cache in which nothing is."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "some.jar").touch()
    return tmp_path / "some.jar"


def test_an_archive_belongs_to_its_class_path(jar: Path) -> None:
    """A Java refuses that of another one, and starts as slowly as without."""
    assert java_archive([jar]) == java_archive([jar])
    assert java_archive([jar]) != java_archive([])


def test_an_archive_is_used_where_it_is_there(jar: Path) -> None:
    """Until then a Java starts without."""
    assert start_options([jar]) == QUICK_START
    archive = java_archive([jar])
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert f"-XX:SharedArchiveFile={archive}" in start_options([jar])
