"""Modules of a bundle that its stages may find preloaded, because the bundle agrees to it.

A distribution agrees with entry points of the group ``hearth.preloads``, each with a unique name and a module: loading
the module starts no thread, opens nothing and draws no random numbers that two processes must not share.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PRELOADS = "hearth.preloads"
"""Group of the entry points."""
AGREED = "*"
"""Placeholder in a list of modules for those that a bundle agrees to."""


def agreed(sites: Sequence[str]) -> list[str]:
    """Return the modules named by the distributions in these directories, in order."""
    files = [path for site in sites for path in sorted(Path(site).glob("*.dist-info/entry_points.txt"))]
    return [module for path in files for module in _named(path.read_text(encoding="utf-8"))]


def _named(text: str) -> Iterator[str]:
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group == PRELOADS and "=" in line:
            yield line.partition("=")[2].strip()


class LoadedFiles:
    """The files of modules loaded from some directories, which an author may edit in place."""

    def __init__(self, sites: Sequence[str]) -> None:
        begins = tuple(os.path.join(site, "") for site in sites)
        files = [getattr(module, "__file__", None) or "" for module in list(sys.modules.values())]
        self._times = {file: _changed_at(file) for file in files if file.startswith(begins)}

    def have_changed(self) -> bool:
        """Return whether a started stage would load other code."""
        return any(_changed_at(file) != time for file, time in self._times.items())


def _changed_at(file: str) -> int | None:
    try:
        return os.stat(file).st_mtime_ns
    except OSError:
        return None
