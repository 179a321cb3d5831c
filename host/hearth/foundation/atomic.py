"""Files that change in one step: a reader sees the old content or the new, never a part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hearth.foundation.directory import make_directory


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside ``path`` to write to; when the body ends well, that file takes the name.

    Nothing is flushed to the disk: this is for what can be made again, not for what must survive a power cut.
    """
    make_directory(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o644)  # mkstemp lets only this user read
        os.replace(name, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def replace_text(path: Path, text: str) -> None:
    """Write a text file in one step, making the directories above it."""
    with replacing(path) as fresh:
        fresh.write_text(text, encoding="utf-8")
