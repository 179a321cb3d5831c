"""The elements of plugin.path and their candidates for bundles.

As in Kafka, an element is a bundle (an archive) or a directory whose children are candidates. A directory that
contains a bundle's files (a manifest, a lock, ``.dist-info`` folders, ``pyvenv.cfg``) is one bundle.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import hearth
from hearth.discovery.manifest import MANIFEST
from hearth.discovery.refusal import Rejected
from hearth.discovery.tree import is_ignored, is_text, kind_of
from hearth.foundation.user_file import state_directory

_FOLDER = "plugin_path"

PYLOCK = "pylock.toml"
"""The lock file of PEP 751, which pins the packages that the wheels next to it are installed with."""
VENV = "pyvenv.cfg"
"""The file that marks a virtual environment."""


def split_plugin_path(text: str) -> list[Path]:
    """Split a comma-separated ``plugin.path`` value into absolute paths."""
    return [Path(element.strip()).absolute() for element in text.split(",") if element.strip()]


def default_plugin_path() -> Path:
    """Return the default plugin.path: ``plugin_path`` of a checkout, else a directory of the user.

    The directory may not exist.
    """
    own = Path(hearth.__file__).resolve().parents[2] / _FOLDER
    return own if own.is_dir() else state_directory(_FOLDER)


def candidates(plugin_path: Sequence[Path]) -> Iterator[Path | Rejected]:
    """Yield each candidate once, by plugin.path element and then by name; an unreadable one as ``Rejected``."""
    seen: set[Path] = set()
    for element in plugin_path:
        try:
            found = _candidates_of(element.absolute())
        except OSError as error:
            yield unreadable(element, error)
            continue
        for candidate in found:
            if candidate not in seen:
                seen.add(candidate)
                yield candidate


def unreadable(location: Path, error: OSError) -> Rejected:
    """Turn an operating system error into a rejection."""
    if isinstance(error, FileNotFoundError):
        if location.is_symlink():
            return Rejected(
                str(location), f"it links to {os.readlink(location)!r}, which does not exist", "correct the link"
            )
        return Rejected(str(location), "it does not exist", "create it, or correct the path")
    reason = (error.strerror or str(error)).lower()
    return Rejected(str(location), f"it cannot be read: {reason}", "let the user that runs Hearth read it")


def refusal(location: Path) -> Rejected | None:
    """Return why a location is not read, ``None`` for a file or directory; raise ``OSError`` if it is inaccessible.

    Reading a pipe would block and a device might never end. A name that is not UTF-8 cannot be shown or sent.
    """
    mode = location.stat().st_mode
    if not is_text(str(location)):
        return Rejected(str(location), "its name is not UTF-8", "give it another name")
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    kind = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    return Rejected(str(location), f"it is {kind}, neither a file nor a directory", "remove it from plugin.path")


def _candidates_of(element: Path) -> list[Path]:
    if not element.is_dir():
        element.stat()  # raises if it is inaccessible
        return [element]
    with os.scandir(element) as entries:
        children = [(entry.name, kind_of(entry)) for entry in entries if not is_ignored(entry.name)]
    if any(
        name in (MANIFEST, PYLOCK, VENV) or (name.endswith(".dist-info") and kind == "folder")
        for name, kind in children
    ):
        return [element]
    return [element / name for name in sorted(name for name, _ in children)]
