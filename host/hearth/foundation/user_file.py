"""Files of a user, in HEARTH_HOME or the XDG directories, replaced atomically.

A reader of a file that is being replaced sees the old or the new content, never a part.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk or an exhausted quota."""


def cache_directory(*parts: str) -> Path:
    """Return the path for data that can be recreated at any time: jars, environments, descriptions."""
    return _directory("XDG_CACHE_HOME", ".cache", parts)


def state_directory(*parts: str) -> Path:
    """Return the path for data that must survive: a broker's data, offsets."""
    return _directory("XDG_STATE_HOME", ".local/state", parts)


def config_directory(*parts: str) -> Path:
    """Return the path for what the user has set: contexts of the client."""
    return _directory("XDG_CONFIG_HOME", ".config", parts)


def make_directory(path: Path) -> None:
    """Create a directory and its parents; only this user may write to them, whatever the umask."""
    for each in reversed((path, *path.parents)):
        each.mkdir(mode=0o755, exist_ok=True)


def _directory(variable: str, default: str, parts: tuple[str, ...]) -> Path:
    home = os.environ.get("HEARTH_HOME")
    if home:
        return Path(home, *parts)
    # The XDG specification says to ignore a relative path.
    named = Path(os.environ.get(variable, ""))
    return Path(named if named.is_absolute() else Path.home() / default, "hearth", *parts)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; if the block succeeds, that file replaces ``path``.

    Nothing is flushed to disk: this is for data that can be recreated and need not survive a power failure. If the
    disk is full, the ``OSError`` names ``path``.
    """
    import tempfile  # imported late: not needed for reading

    make_directory(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o644)  # mkstemp lets only this user read
        os.replace(name, path)
    except OSError as error:
        if error.errno in FULL:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def replace_text(path: Path, text: str) -> None:
    """Replace a text file atomically, creating its directories."""
    with replacing(path) as fresh:
        fresh.write_text(text, encoding="utf-8")


def replace_durably(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Replace a file atomically and durably (Invariant 5).

    Whenever the process or the machine stops, the file has the old or the new content. The new content is first
    written to a file with the suffix `.new`; `mode` are the permissions of a new file, less the umask. Raises OSError
    and leaves the file unchanged.
    """
    fresh = path.with_name(path.name + ".new")
    try:
        with open(fresh, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
        sync_directory(path.parent)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise


def sync_directory(path: Path) -> None:
    """Make creations, renames and removals in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
