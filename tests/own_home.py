"""A HEARTH_HOME of a test's own, which shares with the user's what is fetched and compiled."""

from __future__ import annotations

from pathlib import Path

from hearth.foundation.user_file import cache_directory

SHARED = ("classes", "jars", "java_stage", "programs")
"""Caches in which a name determines the contents; to fill one takes up to 25 s of CPU time."""


def own_home(folder: Path) -> str:
    """Make a directory for HEARTH_HOME without contexts, environments and descriptions, and return it."""
    home = folder / "home"
    home.mkdir()
    for name in SHARED:
        cache = cache_directory(name)
        cache.mkdir(parents=True, exist_ok=True)
        (home / name).symlink_to(cache, target_is_directory=True)
    return str(home)
