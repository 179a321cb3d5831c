"""The Java stage is compiled once, by any available compiler."""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from hearth.foundation.java import find_java
from hearth.isolation import java_stage
from hearth.isolation.java_stage import SOURCES, compile_stage, spark_jars, stage_directory
from hearth.maven.ivy import JarsUnavailable
from hearth.maven.jar import fetch_jars

MAIN = "hearth/stage/Main.class"


def test_stage_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its directory has the jar of its classes and those that they need; a second call finds it."""
    monkeypatch.setattr(java_stage, "_REHEARSAL", "no.such.module")
    found = stage_directory(root=tmp_path)
    assert MAIN in zipfile.ZipFile(found / "hearth-stage.jar").namelist()
    assert any(each.name.endswith("connect-api-4.3.1.jar") for each in found.glob("*.jar"))
    monkeypatch.setattr(java_stage, "compile_stage", pytest.fail)
    assert stage_directory(root=tmp_path) == found
    assert [*tmp_path.iterdir()] == [found]


def test_other_sources_are_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new version of Hearth does not run an old stage."""
    shutil.copytree(SOURCES, tmp_path / "sources")
    monkeypatch.setattr(java_stage, "_REHEARSAL", "no.such.module")
    monkeypatch.setattr(java_stage, "compile_stage", lambda _sources, _jars, classes: classes.mkdir(parents=True))
    before = stage_directory(tmp_path / "sources", tmp_path / "root")
    with (tmp_path / "sources" / "hearth" / "stage" / "Main.java").open("a") as main:
        main.write("// changed\n")
    assert stage_directory(tmp_path / "sources", tmp_path / "root") != before


def test_jars_are_found_beside_an_archive_of_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark starts its own processes with such an archive, first on their path and without jars."""
    with zipfile.ZipFile(tmp_path / "pyspark.zip", "w") as archive:
        archive.writestr("pyspark/__init__.py", "")
    expected = spark_jars()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "pyspark.zip"), *sys.path])
    assert spark_jars() == expected
    monkeypatch.setattr(sys, "path", [str(tmp_path / "pyspark.zip")])
    monkeypatch.setenv("SPARK_HOME", str(expected[0].parents[1]))
    assert spark_jars() == expected


def test_a_jre_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eclipse's compiler replaces the one of a JDK."""
    java = tmp_path / "jre" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f'#!/bin/sh\nexec "{find_java().executable}" "$@"\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jre"))
    compile_stage(SOURCES, [*fetch_jars(java_stage.STAGE_LOCK), *spark_jars()], tmp_path / "classes")
    assert (tmp_path / "classes" / MAIN).is_file()


def test_sources_that_do_not_compile_are_named(tmp_path: Path) -> None:
    """The error ends with the compiler's words."""
    (tmp_path / "Bad.java").write_text("class Bad { int x = nothing; }")
    with pytest.raises(JarsUnavailable, match=r"(?s)cannot be compiled:.*nothing"):
        compile_stage(tmp_path, [], tmp_path / "classes")
