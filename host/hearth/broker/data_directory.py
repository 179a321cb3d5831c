"""The data directory of a server, locked for one server at a time."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO

from hearth_api import ConflictError

_LOCK_TIMEOUT = 20.0
_POLL = 0.05


class DataDirectory:
    """A directory with a lock that a server's process inherits and holds as long as it lives."""

    def __init__(self, path: Path | str) -> None:
        """Name a directory; it is not created yet."""
        self.path = Path(path).absolute()
        self._lock: IO[str] | None = None

    def take(self, who: str) -> None:
        """Create and lock the directory; raises ConflictError, naming ``who``, if the lock is not released soon."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = (self.path / ".lock").open("w", encoding="utf-8")
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while not _locked(self._lock):
            if time.monotonic() > deadline:
                self.give_back()
                raise ConflictError(f"another {who} uses {self.path}", hint="stop it, or use another directory")
            time.sleep(_POLL)

    def fileno(self) -> int:
        """Return the descriptor of the lock, for a process to inherit."""
        assert self._lock is not None
        return self._lock.fileno()

    def give_back(self) -> None:
        """Release the lock; a process that has inherited it still holds it."""
        if self._lock:
            self._lock.close()
        self._lock = None


def _locked(lock: IO[str]) -> bool:
    """Take the lock if it is free; return whether it was."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
