"""Where files of a user go: below HEARTH_HOME when it is set, else in the XDG directories."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory(*parts: str) -> Path:
    """Return the path of something that can be made again at any time: jars, environments, descriptions."""
    return _directory("XDG_CACHE_HOME", ".cache", parts)


def state_directory(*parts: str) -> Path:
    """Return the path of something that must survive: a broker's data, offsets."""
    return _directory("XDG_STATE_HOME", ".local/state", parts)


def make_directory(path: Path) -> None:
    """Make a directory and those it lies in; whatever the umask, nobody else may write there."""
    for each in reversed((path, *path.parents)):
        each.mkdir(mode=0o755, exist_ok=True)


def _directory(variable: str, default: str, parts: tuple[str, ...]) -> Path:
    home = os.environ.get("HEARTH_HOME")
    if home:
        return Path(home, *parts)
    # The XDG rules say that a relative path is to be ignored.
    named = Path(os.environ.get(variable, ""))
    return Path(named if named.is_absolute() else Path.home() / default, "hearth", *parts)
