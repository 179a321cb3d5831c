"""Wheel targets: other Python versions and platforms that a bundle supports in addition to this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from hearth_api import ConfigError

_GLIBC = range(28, 4, -1)
_ALIASES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""Minor glibc versions of the legacy manylinux tags."""


def _linux(machine: str) -> tuple[str, ...]:
    tags = []
    for minor in _GLIBC:
        tags.append(f"manylinux_2_{minor}_{machine}")
        if minor in _ALIASES:
            tags.append(f"{_ALIASES[minor]}_{machine}")
    return (*tags, f"linux_{machine}")


def _macos(machine: str, versions: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"macosx_{version}_{kind}" for version in versions for kind in (machine, "universal2"))


_NEW = ("13_0", "12_0", "11_0")
_OLD = tuple(f"10_{minor}" for minor in range(16, 8, -1))
PLATFORMS = {
    "linux-x86_64": ("x86_64-manylinux_2_28", _linux("x86_64")),
    "linux-aarch64": ("aarch64-manylinux_2_28", _linux("aarch64")),
    "macos-arm64": ("aarch64-apple-darwin", _macos("arm64", _NEW)),
    "macos-x86_64": ("x86_64-apple-darwin", _macos("x86_64", _NEW + _OLD)),
    "windows-amd64": ("x86_64-pc-windows-msvc", ("win_amd64",)),
}
"""Platform name -> uv's name for it, and the tags of compatible wheels, the best first."""


@dataclass(frozen=True)
class WheelTarget:
    """A Python version (``3.12``) on one of ``PLATFORMS``."""

    python: str
    platform: str

    @property
    def resolving(self) -> list[str]:
        """Return uv's options to resolve for the target."""
        return ["--python-version", self.python, "--python-platform", PLATFORMS[self.platform][0]]

    @property
    def fetching(self) -> list[str]:
        """Return pip's options to download wheels for the target."""
        platforms = [word for tag in PLATFORMS[self.platform][1] for word in ("--platform", tag)]
        return ["--only-binary", ":all:", "--implementation", "cp", "--python-version", self.python, *platforms]

    def takes(self, wheel: Path) -> bool:
        """Return whether a wheel runs on the target."""
        return not parse_wheel_filename(wheel.name)[3].isdisjoint(self._tags())

    def _tags(self) -> Iterator[Tag]:
        version = tuple(map(int, self.python.split(".")))
        platforms = PLATFORMS[self.platform][1]
        yield from cpython_tags(version, platforms=platforms)
        yield from compatible_tags(version, f"cp{version[0]}{version[1]}", platforms)


def wheel_targets(pythons: Sequence[str], platforms: Sequence[str]) -> list[WheelTarget]:
    """Return the product of Python versions and platforms; an empty list defaults to this machine's.

    Raises ``ConfigError`` for an invalid version.
    """
    if not pythons and not platforms:
        return []
    for each in pythons:
        major, _, minor = each.partition(".")
        if major != "3" or not minor.isdecimal():
            raise ConfigError(f"{each!r} is not a Python version", hint="write it as 3.12")
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return [WheelTarget(*each) for each in product(pythons or [own], platforms or [_own_platform()])]


def _own_platform() -> str:
    """Return the name of this machine's platform; raise ``ConfigError`` if it has none."""
    from packaging.tags import platform_tags

    here = set(platform_tags())
    for name, (_, tags) in PLATFORMS.items():
        if not here.isdisjoint(tags):
            return name
    raise ConfigError("this machine's platform has no name here", hint=f"name one: {', '.join(PLATFORMS)}")
