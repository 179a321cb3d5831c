"""An environment is a command as data, which finds its directories wherever they were copied."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hearth.config.confinement_key import Confinement
from hearth.config.java_key import Jvm
from hearth.isolation.environment import JAVA_OPTIONS, Environment, java_word
from hearth.isolation.environment_refused import EnvironmentRefused
from hearth_stage.limit import Limits


def test_command_names_what_this_machine_has(tmp_path: Path) -> None:
    """Directories replace their numbers in the command, also within a word; other words are unchanged."""
    environment = Environment("key", ("/usr/bin/java", "-cp", "{0}/*:{1}/*", "Stage"), ("/one", "/two"))
    assert environment.command_line() == ["/usr/bin/java", "-cp", "/one/*:/two/*", "Stage"]
    copied = environment.copied(tmp_path).command_line()
    assert copied == ["/usr/bin/java", "-cp", f"{tmp_path}/0/*:{tmp_path}/1/*", "Stage"]


def test_copied_directories_are_found_by_their_numbers(tmp_path: Path) -> None:
    """Two directories may have the same name; on a shared disk the original ones are used."""
    for name in ("first", "second"):
        (tmp_path / name / "site").mkdir(parents=True)
        (tmp_path / name / "site" / "name").write_text(name)
    environment = Environment("key", ("cat",), (str(tmp_path / "first/site"), str(tmp_path / "second/site")))
    environment.copy_to(tmp_path / "copy")
    found = environment.copied(tmp_path / "copy")
    assert [Path(path, "name").read_text() for path in found.paths] == ["first", "second"]
    assert environment.is_here
    assert found.is_here
    shutil.rmtree(tmp_path / "first")
    assert not environment.is_here


def _java(home: Path, version: str) -> str:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return str(home / "bin" / "java")


def test_java_and_its_options_are_those_of_the_confinement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the machine's Java, with half a gigabyte of heap; a limit of memory sets the heap."""
    ours, other = _java(tmp_path / "ours", "17.0.1"), _java(tmp_path / "other", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "ours"))
    environment = Environment("key", (java_word(0), JAVA_OPTIONS, "Stage"), bundle="demo")
    assert environment.command_line() == [ours, f"-Xmx{512 << 10}k", "Stage"]
    confinement = Confinement(limits=Limits(memory_bytes=100 << 20), jvm=Jvm(str(tmp_path / "other"), ("-Xss1m",)))
    assert environment.confined(confinement).command_line() == [other, f"-Xmx{60 << 10}k", "-Xss1m", "Stage"]


def test_refusal_names_the_java_that_is_needed_and_the_one_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the key that names another; a directory that was named and has no Java is the user's mistake."""
    ours = _java(tmp_path / "ours", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "ours"))
    environment = Environment("key", (java_word(21),), bundle="demo")
    with pytest.raises(EnvironmentRefused, match=f"{ours} is Java 17, Java 21 or newer is required") as caught:
        environment.command_line()
    assert str(caught.value).startswith("the plugins of demo do not run on ")
    assert caught.value.hint == (
        "install Java 21 or newer, or set JAVA_HOME to one; plugin.java.home sets one for plugins alone"
    )
    with pytest.raises(EnvironmentRefused, match=r"plugin\.java\.home is '/nothing', which has no bin/java") as caught:
        environment.confined(Confinement(jvm=Jvm("/nothing"))).command_line()
    assert str(caught.value.hint).startswith("unset plugin.java.home or point it at Java 17 or newer")
