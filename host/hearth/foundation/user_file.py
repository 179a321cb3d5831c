"""Files of a user: they lie below HEARTH_HOME or in the XDG directories, and change in one step.

A reader of one that is replaced sees the old content or the new, never a part.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says where there is no room left, or none for this user."""


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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; when the body ends well, that file takes the name.

    Nothing is flushed to the disk: this is for what can be made again, not for what must survive a power cut. Where
    there is no room the ``OSError`` names ``path``, whatever it named before.
    """
    import tempfile  # which who only reads does without

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
    """Write a text file in one step, making the directories above it."""
    with replacing(path) as fresh:
        fresh.write_text(text, encoding="utf-8")


def replace_durably(path: Path, data: bytes, mode: int = 0o666) -> None:
    """Write a file in one step, which has taken place for good when this returns (Invariant 5).

    Whenever the process or the machine stops, the file holds the old content or the new. The file that is written to
    beside it is called like it, with `.new` at the end; `mode` is what a new file lets others do, less the umask.
    Raises OSError with everything as it was.
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
    """Have what was made, renamed or removed in a directory there for good."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
