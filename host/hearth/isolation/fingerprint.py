"""Fingerprints: the key of an environment, and the record that tells whether one is as it was built."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from hearth.isolation.interpreter import Interpreter

SITE = "site"
_FORMAT = 1
_FINGERPRINT = "environment.json"


def key_of(*facts: str, python: Interpreter) -> str:
    """Return a key for facts about packages on one interpreter and platform."""
    described = json.dumps([_FORMAT, *facts, python.version, python.tag, python.platform])
    return hashlib.sha256(described.encode()).hexdigest()[:32]


def is_whole(target: Path, key: str) -> bool:
    """Return whether an environment is there and has every file it was built with, in its size."""
    try:
        fingerprint = json.loads((target / _FINGERPRINT).read_text(encoding="utf-8"))
        expected = {"format": _FORMAT, "key": key, "files": census(target / SITE)}
    except (OSError, ValueError):
        return False
    return bool(fingerprint == expected)


def census(site: Path) -> str:
    """Return a hash over the paths and sizes of all files but the compiled ones, which come and go."""
    rows = []
    for folder, folders, files in os.walk(site):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        rows += [f"{folder}/{name} {os.lstat(os.path.join(folder, name)).st_size}" for name in sorted(files)]
    prefix = len(str(site))
    return hashlib.sha256("\n".join(row[prefix:] for row in rows).encode()).hexdigest()


def seal(folder: Path, key: str) -> None:
    """Write down how an environment was built."""
    fingerprint = {"format": _FORMAT, "key": key, "files": census(folder / SITE)}
    (folder / _FINGERPRINT).write_text(json.dumps(fingerprint), encoding="utf-8")
