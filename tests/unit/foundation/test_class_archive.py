"""Each Java and class path has its own archive, created once and never left incomplete."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from hearth.foundation.class_archive import MAKING, ClassArchive
from hearth.foundation.java import find_java

REHEARSAL = ["rehearse"]


class Programs:
    """Records the programs that run; each writes an archive and ends with the given status."""

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
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a Java that cannot be run, and a cache in which nothing is."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(subprocess, "run", Programs().run)
    java = tmp_path / "java" / "bin" / "java"
    (java.parent.parent / "lib").mkdir(parents=True)
    java.parent.mkdir()
    java.touch()
    (java.parent.parent / "lib" / "modules").touch()
    return java


def test_archive_belongs_to_its_java_and_class_path(java: Path, tmp_path: Path) -> None:
    """A Java refuses that of another one, and starts as slowly as without."""
    jar, other = tmp_path / "some.jar", tmp_path / "other" / "java"
    jar.touch()
    assert ClassArchive(java, [jar]).path == ClassArchive(java, [jar]).path
    assert len({ClassArchive(*each).path for each in ((java, [jar]), (java, []), (other, [jar]))}) == 3


def test_existing_archive_is_used(java: Path, tmp_path: Path) -> None:
    """Until then a Java starts without."""
    archive = ClassArchive(java, [tmp_path / "some.jar"])
    assert archive.options() == ()
    assert f"-XX:SharedArchiveFile={archive.make(REHEARSAL)}" in archive.options()


def test_archive_is_made_once(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a process of its own, which a JVM is started in as if there were no archive."""
    programs = Programs()
    monkeypatch.setattr(subprocess, "run", programs.run)
    archive = ClassArchive(java, [])
    assert [archive.make(REHEARSAL), archive.make(REHEARSAL)] == [archive.path, archive.path]
    assert archive.path.read_text() == "classes"
    assert programs.commands == [REHEARSAL]


def test_warm_up_process_makes_jvms_write_the_archive(java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where somebody else has made it meanwhile: a JVM that uses one writes none."""
    archive = ClassArchive(java, [])
    archive.make(REHEARSAL)
    monkeypatch.setenv(MAKING, "/some/file")
    assert archive.options()[0] == "-XX:ArchiveClassesAtExit=/some/file"
    assert not any("SharedArchiveFile" in option for option in archive.options())


@pytest.mark.parametrize("error", [subprocess.CalledProcessError(1, "java"), subprocess.TimeoutExpired("java", 1)])
def test_archive_of_a_failed_warm_up_is_removed(java: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Every later JVM would map it; without one they only start slower."""
    monkeypatch.setattr(subprocess, "run", Programs(error).run)
    archive = ClassArchive(java, [])
    with pytest.raises(type(error)):
        archive.make(REHEARSAL)
    assert list(archive.path.parent.iterdir()) == []


def test_outdated_archives_are_removed(java: Path, tmp_path: Path) -> None:
    """Each takes 50 MB or more. The archive of another installed Spark stays."""
    gone, replaced, other, newest = (tmp_path / name for name in ("gone", "replaced", "other", "newest"))
    for each in (gone, replaced, other, newest):
        each.mkdir()
    old = [ClassArchive(java, [each]).make(REHEARSAL) for each in (gone, replaced)]
    kept = ClassArchive(java, [other]).make(REHEARSAL)
    gone.rmdir()
    (replaced / "new.jar").touch()
    made = ClassArchive(java, [newest]).make(REHEARSAL)
    assert sorted(made.parent.glob("*.jsa")) == sorted([kept, made])
    assert len({*old, kept, made}) == 4
    assert len(list(made.parent.iterdir())) == 4


def test_java_maps_archives_where_they_were_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere it writes to each of their pages, which processes of one archive share otherwise."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    java = find_java().executable
    archive = ClassArchive(java, [])
    made = archive.make(["sh", "-c", f'"{java}" -XX:ArchiveClassesAtExit="${MAKING}" --version'])
    ran = [str(java), *archive.options(), "-Xlog:cds:stderr", "--version"]
    errors = subprocess.run(ran, capture_output=True, text=True, check=True).stderr
    assert f"Opened archive {made}" in errors
    assert "alternative address" not in errors


def test_java_ignores_an_invalid_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java prints nothing about it."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    java = find_java().executable
    archive = ClassArchive(java, [])
    archive.path.parent.mkdir(parents=True)
    archive.path.write_text("no classes")
    done = subprocess.run([java, *archive.options(), "--version"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 3
