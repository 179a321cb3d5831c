"""Where a spool lies: what the rest of it asks of a directory, or of an address elsewhere."""

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
    """A place of files that processes on any machine may reach at once.

    Names are relative, those of a task with its folder before them. What is out of reach raises OSError.
    """

    address: str
    """By which any process finds the place again."""
    look_seconds: float
    """How often it is reasonable to look whether something has changed there, a tenth of a second at best."""

    def lock(self, seconds: float) -> Callable[[], None]:
        """Begin to use the place, as the only one where it can say so; returns what ends that.

        Raises SpoolInUse, after so many seconds, and ConfigError for a place that can hold no spool.
        """

    def names(self, folder: str = "") -> list[str]:
        """Return what lies there: in a folder, or beside all folders, whose names are there then as well."""

    def read(self, name: str) -> bytes | None:
        """Return a file as it is; nothing where there is none."""

    def end(self, name: str, count: int) -> bytes | None:
        """Return so many of the last bytes of a file, or all of fewer; nothing where there is none."""

    def open(self, name: str) -> Any:
        """Return a file that pyarrow reads."""

    def create(self, name: str, data: bytes) -> None:
        """Write a file for good and in one step; raises FileExistsError for all but the first who does so."""

    def put(self, name: str, data: bytes) -> None:
        """Write a file, in place of another; it may not survive the machine, and be read while half of it is there."""

    def draft(self, name: str) -> Path:
        """Return a path on this machine, to be written to what is published under a name."""

    def publish(self, draft: Path, name: str) -> None:
        """Have a file there that was drafted, for good and in one step; the draft is gone then."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
