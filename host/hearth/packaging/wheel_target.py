"""What a bundle's wheels are for beside this machine: another Python, another platform."""

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
"""What minor versions of glibc were called before they were called by their numbers."""


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
"""What users call a platform -> what uv calls it, and the tags of the wheels that run there, the best first."""


@dataclass(frozen=True)
class WheelTarget:
    """A Python (``3.12``) on a platform, one of ``PLATFORMS``."""

    python: str
    platform: str

    @property
    def resolving(self) -> list[str]:
        """Return the options with which uv resolves for it."""
        return ["--python-version", self.python, "--python-platform", PLATFORMS[self.platform][0]]

    @property
    def fetching(self) -> list[str]:
        """Return the options with which pip fetches wheels for it."""
        platforms = [word for tag in PLATFORMS[self.platform][1] for word in ("--platform", tag)]
        return ["--only-binary", ":all:", "--implementation", "cp", "--python-version", self.python, *platforms]

    def takes(self, wheel: Path) -> bool:
        """Return whether a wheel runs there."""
        return not parse_wheel_filename(wheel.name)[3].isdisjoint(self._tags())

    def _tags(self) -> Iterator[Tag]:
        version = tuple(map(int, self.python.split(".")))
        platforms = PLATFORMS[self.platform][1]
        yield from cpython_tags(version, platforms=platforms)
        yield from compatible_tags(version, f"cp{version[0]}{version[1]}", platforms)


def wheel_targets(pythons: Sequence[str], platforms: Sequence[str]) -> list[WheelTarget]:
    """Return every Python on every platform; where only one of both is named, with that of this machine.

    Raises ``ConfigError`` for a version that is none.
    """
    if not pythons and not platforms:
        return []
    for each in pythons:
        major, _, minor = each.partition(".")
        if major != "3" or not minor.isdecimal():
            raise ConfigError(f"{each!r} is no version of Python", hint="write it as 3.12")
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return [WheelTarget(*each) for each in product(pythons or [own], platforms or [_own_platform()])]


def _own_platform() -> str:
    """Return this machine's name among the platforms; raises ``ConfigError`` where it has none."""
    from packaging.tags import platform_tags

    here = set(platform_tags())
    for name, (_, tags) in PLATFORMS.items():
        if not here.isdisjoint(tags):
            return name
    raise ConfigError("this machine's platform has no name here", hint=f"name one: {', '.join(PLATFORMS)}")
