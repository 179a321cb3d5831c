"""Fingerprints: the key of an environment, and the record that tells whether one is as it was built."""

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
    from hearth.isolation.interpreter import Interpreter  # executors lack what that reads versions with

SITE = "site"
KEY = re.compile(r"[0-9a-f]{32}")
"""What the keys of environments look like, and the names of their directories."""
_FORMAT = 1
_FINGERPRINT = "environment.json"
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def key_of(*facts: str, python: Interpreter) -> str:
    """Return a key for facts about packages on one interpreter and platform."""
    described = json.dumps([_FORMAT, *facts, python.version, python.tag, python.platform])
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def is_whole(target: Path, key: str) -> bool:
    """Return whether an environment is there and has every file it was built with, in its size.

    One in which others may write is not: names and sizes do not tell what they made of it.
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
    """Return a hash over the paths and sizes of all files but the compiled ones, which come and go."""
    return _hash(site, _entries(site))


def close_to_others(folder: Path, is_deep: bool = True) -> None:
    """Let nobody but the owner write in a folder, whatever the umask was when its files were made."""
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
    """Yield everything below a folder, however deep; what cannot be looked at is passed over."""
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
    """Write down how an environment was built."""
    fingerprint = {"format": _FORMAT, "key": key, "files": census(folder / SITE)}
    (folder / _FINGERPRINT).write_text(json.dumps(fingerprint), encoding="utf-8")
