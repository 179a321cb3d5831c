"""The directory in which a server keeps its data, which one server at a time may have."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO

from hearth_api import ConflictError

_LOCK_TIMEOUT = 20.0
_POLL = 0.05


class DataDirectory:
    """A directory with a lock, which a server's process inherits and holds for as long as it lives."""

    def __init__(self, path: Path | str) -> None:
        """Name a directory; nothing is made yet."""
        self.path = Path(path).absolute()
        self._lock: IO[str] | None = None

    def take(self, who: str) -> None:
        """Make the directory and lock it; a ConflictError names ``who`` has it, when he does not give it back soon."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = (self.path / ".lock").open("w", encoding="utf-8")
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while not _locked(self._lock):
            if time.monotonic() > deadline:
                self.give_back()
                raise ConflictError(f"another {who} uses {self.path}", hint="stop it, or choose another directory")
            time.sleep(_POLL)

    def fileno(self) -> int:
        """Return the descriptor of the lock, for a process to inherit."""
        assert self._lock is not None
        return self._lock.fileno()

    def give_back(self) -> None:
        """Let go of the lock; a process that has inherited it still holds it."""
        if self._lock:
            self._lock.close()
        self._lock = None


def _locked(lock: IO[str]) -> bool:
    """Take the lock if nobody has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
