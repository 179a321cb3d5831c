"""A spool in a directory, on a local or a shared disk."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from hearth.datasource.spool_store import SpoolInUse
from hearth.foundation.user_file import sync_directory

DRAFT = ".part"
"""Suffix of files that are being written."""


class DirectoryStore:
    """Files in a directory. Hard links create names atomically, even if other machines write there."""

    look_seconds = 0.1

    def __init__(self, root: Path) -> None:
        self.root, self.address = root, str(root)

    def lock(self, seconds: float) -> Callable[[], None]:
        """Create the directory and lock it; the lock is released when the process ends in any way."""
        self.root.mkdir(parents=True, exist_ok=True)
        held = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < until:
                    time.sleep(0.05)
                    continue
                holder = os.pread(held, 32, 0).decode(errors="replace").strip()
                os.close(held)
                raise SpoolInUse(f"the spool {self.address!r} is used by process {holder or 'unknown'}") from None
            with contextlib.suppress(OSError):
                os.ftruncate(held, 0)
                os.pwrite(held, str(os.getpid()).encode(), 0)
            return lambda: os.close(held)

    def names(self, folder: str = "") -> list[str]:
        """Return the names of files and folders, including drafts of ended processes."""
        with contextlib.suppress(FileNotFoundError):
            return os.listdir(self.root / folder)
        return []

    def read(self, name: str) -> bytes | None:
        """Return the content of a file."""
        with contextlib.suppress(FileNotFoundError):
            return (self.root / name).read_bytes()
        return None

    def end(self, name: str, count: int) -> bytes | None:
        """Return the last bytes of a file."""
        try:
            with open(self.root / name, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - count))
                return file.read()
        except FileNotFoundError:
            return None

    def open(self, name: str) -> Any:
        """Return a memory-mapped file."""
        return pa.memory_map(str(self.root / name))

    def create(self, name: str, data: bytes) -> None:
        """Flush a file to disk, then link its name to it, which fails if the name exists."""
        draft = self._written(name, data)
        try:
            _flush(draft)
            os.link(draft, self.root / name)
        finally:
            draft.unlink(missing_ok=True)
        sync_directory((self.root / name).parent)

    def put(self, name: str, data: bytes) -> None:
        """Write a draft, then rename it."""
        os.replace(self._written(name, data), self.root / name)

    def draft(self, name: str) -> Path:
        """Return a path in the same folder, creating the folder."""
        path = self.root / name
        if not path.parent.exists():
            path.parent.mkdir(exist_ok=True)
            sync_directory(self.root)
        return path.with_name(f".{path.name}.{uuid.uuid4().hex}{DRAFT}")

    def publish(self, draft: Path, name: str) -> None:
        """Flush a file to disk, then rename it."""
        _flush(draft)
        os.replace(draft, self.root / name)
        sync_directory(draft.parent)

    def remove(self, name: str) -> None:
        """Unlink a file."""
        (self.root / name).unlink(missing_ok=True)

    def _written(self, name: str, data: bytes) -> Path:
        draft = self.draft(name)
        try:
            draft.write_bytes(data)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return draft


def _flush(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
