"""Rules of finding a Java."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.foundation.java import JavaMissing, feature_version, find_java, install_command


def _java(home: Path, release: str | None = None, banner: str = "") -> Path:
    """Make a folder that looks like an installed Java."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    program.chmod(0o755)
    if release is not None:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    return program


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    """JAVA_HOME wins over PATH."""
    wanted = _java(tmp_path / "home", "17.0.1")
    other = _java(tmp_path / "other", "21")
    java = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(other.parent)})
    assert (java.executable, java.version) == (wanted, 17)


def test_first_java_on_path_is_used(tmp_path: Path) -> None:
    """Without JAVA_HOME it is the one a shell would find."""
    first, second = _java(tmp_path / "a", "21.0.2"), _java(tmp_path / "b", "17")
    java = find_java({"PATH": f"{first.parent}:{second.parent}"})
    assert (java.executable, java.version) == (first, 21)


def test_version_comes_from_the_program_without_a_release_file(tmp_path: Path) -> None:
    """A launcher script such as jenv's has no release file next to it."""
    program = _java(tmp_path, banner='openjdk version "18.0.1" 2022-04-19')
    assert find_java({"PATH": str(program.parent)}).version == 18


def test_missing_java_names_the_install_command() -> None:
    """Nothing found: the message says where was looked, the hint what to install."""
    with pytest.raises(JavaMissing, match="JAVA_HOME is not set and PATH has no java") as caught:
        find_java({"PATH": "/nonexistent"})
    assert caught.value.code == "environment.java"
    assert caught.value.hint is not None
    assert install_command() in caught.value.hint


def test_java_home_without_java_is_named(tmp_path: Path) -> None:
    """A wrong JAVA_HOME is an error even if PATH has a Java, since Spark would stumble over it."""
    program = _java(tmp_path / "fine", "17")
    with pytest.raises(JavaMissing, match=r"JAVA_HOME is .*which has no bin/java"):
        find_java({"JAVA_HOME": str(tmp_path / "empty"), "PATH": str(program.parent)})


def test_old_java_is_refused_with_its_version(tmp_path: Path) -> None:
    """Java 11 is named with its path, its version and what is needed."""
    program = _java(tmp_path, "11.0.2")
    with pytest.raises(JavaMissing, match=rf"{program} is Java 11, Java 17 or newer is required"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_program_that_is_no_java_is_refused(tmp_path: Path) -> None:
    """A `java` that prints no version is not taken."""
    program = _java(tmp_path, banner="hello")
    with pytest.raises(JavaMissing, match="does not report its Java version"):
        find_java({"PATH": str(program.parent)})


@pytest.mark.parametrize(
    ("text", "expected"), [("17.0.15", 17), ("21", 21), ("1.8.0", 8), ("25.0.1", 25), ("11.0.2", 11)]
)
def test_feature_version_is_the_common_number(text: str, expected: int) -> None:
    """1.8 is Java 8, everything later is its first number."""
    assert feature_version(text) == expected


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("ID=debian\n", "apt-get"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "apt-get"),
        ("ID=fedora\n", "dnf"),
        ('ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', "zypper"),
        ("ID=alpine\n", "apk"),
        ("ID=unheard-of\n", "adoptium"),
    ],
)
def test_install_command_fits_the_system(tmp_path: Path, release: str, expected: str) -> None:
    """The command is the one of this distribution or of its nearest known ancestor."""
    file = tmp_path / "os-release"
    file.write_text(release)
    assert expected in install_command(file, "linux")


def test_install_command_for_a_mac() -> None:
    """On macOS it is Homebrew's."""
    assert install_command(platform="darwin").startswith("brew ")
