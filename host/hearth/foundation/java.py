"""Finds the Java runtime that Kafka and Spark need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hearth_api import ConnectError

MINIMUM_VERSION = 17
_RELEASE = re.compile(r'^JAVA_VERSION="?(?P<version>[\d.]+)', re.MULTILINE)
_BANNER = re.compile(r'version "(?P<version>[\d.]+)')
_OS_RELEASE = Path("/etc/os-release")
_INSTALL_COMMANDS = {
    "debian": "sudo apt-get install openjdk-17-jre-headless",
    "ubuntu": "sudo apt-get install openjdk-17-jre-headless",
    "fedora": "sudo dnf install java-21-openjdk-headless",
    "rhel": "sudo dnf install java-17-openjdk-headless",
    "suse": "sudo zypper install java-17-openjdk-headless",
    "arch": "sudo pacman -S jre17-openjdk-headless",
    "alpine": "sudo apk add openjdk17-jre-headless",
}


class JavaMissing(ConnectError):
    """No suitable Java was found."""

    code = "environment.java"


@dataclass(frozen=True)
class Java:
    """A Java runtime: its executable and its feature version, such as 17."""

    executable: Path
    version: int


def find_java(
    environ: Mapping[str, str] | None = None, minimum: int = MINIMUM_VERSION, home_key: str = "JAVA_HOME"
) -> Java:
    """Return the Java of JAVA_HOME, else the first one on PATH; raises JavaMissing if it is not suitable.

    A JAVA_HOME without Java is an error and not ignored: the user has chosen it, and Spark would use it, too.
    ``home_key`` is the name under which users know what ``environ`` calls JAVA_HOME.
    """
    environ = os.environ if environ is None else environ
    executable = java_executable(environ, home_key)
    version = _version(executable)
    if version < minimum:
        hint = _remedy(home_key, minimum)
        raise JavaMissing(f"{executable} is Java {version}, Java {minimum} or newer is required", hint=hint)
    return Java(executable, version)


def java_executable(environ: Mapping[str, str], home_key: str = "JAVA_HOME") -> Path:
    """Return the path of the Java to use, without checking its version."""
    home = environ.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        if not os.access(candidate, os.X_OK):
            hint = _remedy(home_key, home_is_set=True)
            raise JavaMissing(f"{home_key} is {home!r}, which has no bin/java", hint=hint)
        return candidate
    found = shutil.which("java", path=environ.get("PATH"))
    if found is None:
        raise JavaMissing("no Java was found: JAVA_HOME is not set and PATH has no java", hint=_remedy())
    return Path(found)


def _version(executable: Path) -> int:
    """Return the feature version from the runtime's release file, else from the program."""
    release = executable.resolve().parent.parent / "release"
    try:
        match = _RELEASE.search(release.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        match = None
    if match is None:
        match = _BANNER.search(_banner(executable))
    if match is None:
        raise JavaMissing(f"{executable} does not report its Java version", hint=_remedy())
    return feature_version(match["version"])


def _banner(executable: Path) -> str:
    """Return what `java -version` prints."""
    try:
        answer = subprocess.run([str(executable), "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaMissing(f"{executable} cannot be run: {error}", hint=_remedy()) from error
    return answer.stderr + answer.stdout


def feature_version(text: str) -> int:
    """Return 17 for '17.0.15' and 8 for '1.8.0'."""
    numbers = [int(part) for part in text.split(".") if part]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _remedy(home_key: str = "JAVA_HOME", minimum: int = MINIMUM_VERSION, home_is_set: bool = False) -> str:
    """Return the hint that says how to get a suitable Java."""
    command = install_command()
    if home_is_set:
        return f"unset {home_key} or point it at Java {minimum} or newer; to install one: {command}"
    how = f" ({command})" if minimum <= MINIMUM_VERSION else ""  # systems have few newer ones
    return f"install Java {minimum} or newer{how}, or set {home_key} to one"


def install_command(os_release: Path = _OS_RELEASE, platform: str = sys.platform) -> str:
    """Return the command that installs Java on this system."""
    if platform == "darwin":
        return "brew install openjdk@17"
    for name in _system_names(os_release):
        if name in _INSTALL_COMMANDS:
            return _INSTALL_COMMANDS[name]
    return "see https://adoptium.net for a package"


def _system_names(os_release: Path) -> list[str]:
    """Return the names of this distribution and of those it is based on, nearest first."""
    try:
        lines = os_release.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    names = f"{values.get('ID', '')} {values.get('ID_LIKE', '')}"
    return names.replace('"', "").split()
