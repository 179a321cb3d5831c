"""The interface of a spool's store, which is a directory or an fsspec address."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from hearth_api import ConflictError


class SpoolInUse(ConflictError):
    """Another query uses the spool."""

    code = "spool.in_use"
    hint = "stop that query, or give each its own hearth.spool"


class SpoolStore(Protocol):
    """A store of files that processes on any machine may use at the same time.

    Names are relative; those of a task include its folder. Methods raise OSError if the store cannot be reached.
    """

    address: str
    """The address at which any process finds the store."""
    look_seconds: float
    """A reasonable interval for checks for changes, at least a tenth of a second."""

    def lock(self, seconds: float) -> Callable[[], None]:
        """Lock the store, if it supports locks; returns the function that releases it.

        Raises SpoolInUse after ``seconds``, and ConfigError for a store that cannot hold a spool.
        """

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, or at the top level, including those of folders."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""

    def end(self, name: str, count: int) -> bytes | None:
        """Return the last ``count`` bytes of a file, or all if it has fewer; None if it does not exist."""

    def open(self, name: str) -> Any:
        """Return a file for pyarrow to read."""

    def create(self, name: str, data: bytes) -> None:
        """Create a file durably and atomically; raises FileExistsError if it exists."""

    def put(self, name: str, data: bytes) -> None:
        """Write or replace a file; it may be lost in a power failure, and readers may see a part of it."""

    def draft(self, name: str) -> Path:
        """Return a local path to write a file to before it is published under ``name``."""

    def publish(self, draft: Path, name: str) -> None:
        """Publish a draft durably and atomically, and remove the draft."""

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
