"""What lines are read from: a file that is followed while it grows, or the standard input."""

from __future__ import annotations

import io
import os
import select
import stat
from abc import ABC, abstractmethod


class Stream(ABC):
    """Bytes that arrive over time; `position` counts those already read, None where that means nothing."""

    position: int | None

    def has_news(self) -> bool:
        """Return whether a stream that was read to its end may bring more, now or by a successor."""
        return True

    @abstractmethod
    def read_into(self, buffer: memoryview) -> int:
        """Fill the buffer from its start and return how many bytes came; never waits for them."""

    @abstractmethod
    def successor(self) -> Stream | None:
        """Return the stream to go on with when this one, read to its end, will bring nothing more."""

    @abstractmethod
    def close(self) -> None:
        """Release what the stream holds."""


class FollowedFile(Stream):
    """A file that others append to.

    It has a successor when it was cut short (the same file from its start) or when another file stands at
    its path (that file). It goes on as long as its path is empty, as in the middle of a rotation.
    """

    position: int

    def __init__(self, path: str) -> None:
        """Open the file at its start."""
        self._path = path
        self._file = io.FileIO(path, "rb", opener=_open)
        status = os.fstat(self._file.fileno())
        self._identity = (status.st_dev, status.st_ino)
        self._is_regular = stat.S_ISREG(status.st_mode)
        self.position = 0

    def resume(self, position: int) -> bool:
        """Go to the position of an earlier run; stays at the start and returns False if there is none."""
        if self._is_regular:
            if self._size() < position:
                return False
            self._file.seek(position)
        self.position = position
        return True

    def has_news(self) -> bool:
        """Return whether the path shows anything but this file, read to its end; that costs one question."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return True
        is_same = (there.st_dev, there.st_ino) == self._identity
        return not (self._is_regular and is_same and there.st_size == self.position)

    def read_into(self, buffer: memoryview) -> int:
        """Read what was appended, as far as it fits."""
        count = self._file.readinto(buffer) or 0
        self.position += count
        return count

    def successor(self) -> FollowedFile | None:
        """Return the file to go on with, from its start; None while this one may still grow."""
        try:
            return FollowedFile(self._path) if self._is_regular and self._is_over() else None
        except FileNotFoundError:
            return None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _is_over(self) -> bool:
        # The path before the size: what was written up to the replacement is then part of the size.
        there = os.stat(self._path)
        size = self._size()
        is_replaced = (there.st_dev, there.st_ino) != self._identity
        return size < self.position or (is_replaced and size == self.position)


def _open(path: str, flags: int) -> int:
    # Without O_NONBLOCK the opening of a named pipe would wait for a writer.
    return os.open(path, flags | os.O_NONBLOCK)


class StandardInput(Stream):
    """The standard input of the process, whose positions mean nothing to a later process."""

    position = None
    _DESCRIPTOR = 0

    def read_into(self, buffer: memoryview) -> int:
        """Read what is there, as far as it fits."""
        ready, _, _ = select.select([self._DESCRIPTOR], [], [], 0)
        return os.readv(self._DESCRIPTOR, [buffer]) if ready else 0

    def successor(self) -> None:
        """Return None, since there is but one standard input."""

    def close(self) -> None:
        """Leave it open, since it belongs to the process."""
