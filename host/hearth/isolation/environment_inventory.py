"""The environments on this machine, the bundles that use them, and the ones that no bundle needs.

Each use of an environment writes a note, ``uses/KEY/NAME.json``, with the bundle's name and location; the note's
modification time is the time of the last use. A bundle that no longer exists, or has since been given another
environment, does not need this one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from hearth.foundation.user_file import replace_text
from hearth.isolation.fingerprint import KEY, SITE

DAY = 86400.0
_USES = "uses"
_REMOVED = ".removed-"
_LEFT = ("*.building-*", f"*{_REMOVED}*")
"""Directories left by processes that were killed while they built or removed an environment."""


@dataclass(frozen=True)
class Use:
    """The bundle that was given an environment, and the time of its last use in seconds since 1970."""

    bundle: str
    location: str
    last: float


@dataclass(frozen=True)
class KnownEnvironment:
    """An environment on this machine."""

    key: str
    path: Path
    size: int
    """Total size of its files in bytes."""
    uses: tuple[Use, ...]
    """The last use of each bundle, unordered; empty if the environment is older than the notes."""
    is_running: bool
    """Whether a process on this machine was started in it."""
    is_needed: bool
    """Whether a bundle still exists at its location and was given this environment last."""
    last_used: float
    """Time of the last use, or of the build if there was none."""


class EnvironmentInventory:
    """The environments in one directory; several processes may use it at the same time."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def note(self, key: str, bundle: str, location: Path) -> None:
        """Note that a bundle was given an environment; the location of a base layer is its Python's."""
        name = hashlib.sha256(os.fsencode(location)).hexdigest()[:16]
        path = self._root / _USES / key / f"{name}.json"
        try:
            os.utime(path)
        except FileNotFoundError:
            with contextlib.suppress(UnicodeEncodeError):  # a name that is not UTF-8 is rejected earlier
                replace_text(path, json.dumps({"bundle": bundle, "location": str(location)}))

    def all(self) -> list[KnownEnvironment]:
        """Return all environments, the most recently used first."""
        uses = {key: tuple(self._uses(key)) for key in self._keys()}
        newest: dict[str, tuple[float, str]] = {}
        for key, each in ((key, each) for key, found in uses.items() for each in found):
            newest[each.location] = max(newest.get(each.location, (0.0, "")), (each.last, key))
        running = _running(self._root)
        found = [
            KnownEnvironment(
                key,
                self._root / key,
                _size(self._root / key),
                each,
                key in running,
                any(newest[use.location][1] == key and Path(use.location).exists() for use in each),
                max(use.last for use in each) if each else (self._root / key).stat().st_mtime,
            )
            for key, each in uses.items()
        ]
        return sorted(found, key=lambda each: -each.last_used)

    def prune(self, days: float, is_dry_run: bool = False) -> list[KnownEnvironment]:
        """Remove environments that no bundle or process needs and that were unused for ``days``; return them.

        An environment that is requested later is built again from the bundle or the package index.
        """
        before = time.time() - days * DAY
        over = [each for each in self.all() if not each.is_needed and not each.is_running and each.last_used <= before]
        if is_dry_run:
            return over
        for left in (path for pattern in _LEFT for path in self._root.glob(pattern)):
            self._remove(left, left.name.partition(".")[0])
        return [each for each in over if self._remove(each.path, each.key)]

    def _remove(self, path: Path, key: str) -> bool:
        """Rename, then remove a directory, so that no reader sees half of it; skips one that is being built."""
        try:
            with FileLock(self._root / f"{key}.lock", timeout=0, mode=0o644):
                doomed = path if _REMOVED in path.name else path.with_name(f"{key}{_REMOVED}{os.getpid()}")
                if doomed != path:
                    path.rename(doomed)
                shutil.rmtree(doomed, ignore_errors=True)
                if path.name == key:
                    shutil.rmtree(self._root / _USES / key, ignore_errors=True)
        except (Timeout, FileNotFoundError):
            return False
        return True

    def _keys(self) -> list[str]:
        if not self._root.is_dir():
            return []
        return sorted(path.name for path in self._root.iterdir() if KEY.fullmatch(path.name) and path.is_dir())

    def _uses(self, key: str) -> Iterator[Use]:
        for path in (self._root / _USES / key).glob("*.json"):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):  # ignore a damaged note
                members = json.loads(path.read_text(encoding="utf-8"))
                yield Use(str(members["bundle"]), str(members["location"]), path.stat().st_mtime)


def _size(folder: Path) -> int:
    files = (Path(path, name) for path, _, names in os.walk(folder / SITE) for name in names)
    return sum(each.lstat().st_size for each in files)


def _running(root: Path) -> set[str]:
    """Return the keys in the command lines of this machine's processes; empty on a system without ``/proc``."""
    prefix, found = os.fsencode(root) + b"/", set()
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = line.read_bytes().split(b"\0")
            found |= {word[len(prefix) :].partition(b"/")[0].decode() for word in words if word.startswith(prefix)}
    return found
