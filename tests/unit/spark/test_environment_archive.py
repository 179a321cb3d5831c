"""Environments are sent to executors as Spark archives and are found there."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark import SparkFiles

from hearth.isolation.environment import Environment
from hearth.spark.environment_archive import ship, unpacked


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """Return an environment of a program with two directories of one name."""
    for name in ("first", "second"):
        (tmp_path / name / "lib").mkdir(parents=True)
        (tmp_path / name / "lib" / "name").write_text(name)
    paths = (str(tmp_path / "first/lib"), str(tmp_path / "second/lib"))
    return Environment("key", ("/usr/bin/java", "-cp", "{0}/*:{1}/*", "Stage"), paths)


def sent(environment: Environment, folder: Path) -> list[str]:
    """Send an environment; return the files that Spark was asked to add."""
    added: list[str] = []
    ship(SimpleNamespace(_temp_dir=str(folder), addArchive=added.append), environment)
    return added


def test_environment_runs_where_spark_unpacked_it(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its command names the directories of the executor, with what they held on the host."""
    (added,) = sent(environment, tmp_path)
    archive, _, name = added.partition("#")
    root = tmp_path / "executor"
    shutil.unpack_archive(archive, root / name)
    shutil.rmtree(tmp_path / "first")
    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(root))
    found = unpacked(environment)
    assert found.command_line() == ["/usr/bin/java", "-cp", f"{root}/key/0/*:{root}/key/1/*", "Stage"]
    assert [Path(path, "name").read_text() for path in found.paths] == ["first", "second"]


def test_environment_on_a_shared_disk_is_used_in_place(environment: Environment) -> None:
    """Nothing is looked for where Spark unpacks."""
    assert unpacked(environment) is environment


def test_program_without_directories_is_not_sent(tmp_path: Path) -> None:
    """It is on every machine, or an error there."""
    environment = Environment("key", ("/usr/bin/stage",))
    assert sent(environment, tmp_path) == []
    assert unpacked(environment) is environment
