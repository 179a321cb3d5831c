"""Fingerprints: the key of an environment, and the record that shows whether it is intact."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hearth.isolation.interpreter import Interpreter  # executors lack importlib_metadata

SITE = "site"
KEY = re.compile(r"[0-9a-f]{32}")
"""Form of an environment's key, which is the name of its directory."""
_FORMAT = 1
_FINGERPRINT = "environment.json"
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def key_of(*facts: str, python: Interpreter) -> str:
    """Return a key of facts about packages, on one interpreter and platform."""
    described = json.dumps([_FORMAT, *facts, python.version, python.tag, python.platform])
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def is_whole(target: Path, key: str) -> bool:
    """Return whether an environment exists and has every file it was built with, at its size.

    One that others can write to is not intact: they can change content without changing names and sizes.
    """
    try:
        fingerprint = json.loads((target / _FINGERPRINT).read_text(encoding="utf-8"))
        found = [target.lstat(), (target / SITE).lstat()]
    except (OSError, ValueError):
        return False
    entries = list(_entries(target / SITE))
    expected = {"format": _FORMAT, "key": key, "files": _hash(target / SITE, entries)}
    found += [traits for _, traits in entries]
    return bool(fingerprint == expected) and not any(map(_is_open_to_others, found))


def census(site: Path) -> str:
    """Return a hash of the paths and sizes of all files except compiled ones, which come and go."""
    return _hash(site, _entries(site))


def close_to_others(folder: Path, is_deep: bool = True) -> None:
    """Make a folder writable for its owner only, whatever the umask was when its files were created."""
    for path, traits in [(str(folder), folder.lstat()), *(_entries(folder) if is_deep else ())]:
        if _is_open_to_others(traits):
            os.chmod(path, stat.S_IMODE(traits.st_mode) & ~_OTHERS)


def _hash(site: Path, entries: Iterable[tuple[str, os.stat_result]]) -> str:
    prefix = len(str(site))
    rows = [
        f"{path[prefix:]} {traits.st_size}"
        for path, traits in entries
        if not stat.S_ISDIR(traits.st_mode) and f"{os.sep}__pycache__{os.sep}" not in path
    ]
    return hashlib.sha256(os.fsencode("\n".join(sorted(rows)))).hexdigest()


def _entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every entry below a folder; skips what cannot be read."""
    waiting = [str(folder)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry.path, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _is_open_to_others(traits: os.stat_result) -> bool:
    return bool(traits.st_mode & _OTHERS) and not stat.S_ISLNK(traits.st_mode)


def seal(folder: Path, key: str) -> None:
    """Write the fingerprint of a new environment."""
    fingerprint = {"format": _FORMAT, "key": key, "files": census(folder / SITE)}
    (folder / _FINGERPRINT).write_text(json.dumps(fingerprint), encoding="utf-8")
