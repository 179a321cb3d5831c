"""Streams that lines are read from: a file that is followed while it grows, or the standard input."""

from __future__ import annotations

import io
import os
import select
import stat
from abc import ABC, abstractmethod


class Stream(ABC):
    """Bytes that arrive over time; `position` counts the bytes already read, None for a stream without positions."""

    position: int | None

    def has_news(self) -> bool:
        """Return whether a stream that was read to its end may have more data, in itself or in a successor."""
        return True

    @abstractmethod
    def read_into(self, buffer: memoryview) -> int:
        """Fill the buffer from its start without blocking and return the number of bytes read."""

    @abstractmethod
    def successor(self) -> Stream | None:
        """Return the stream to continue with, if this one was read to its end and will not grow."""

    @abstractmethod
    def close(self) -> None:
        """Release the stream's resources."""


class FollowedFile(Stream):
    """A file that other programs append to.

    Its successor is the same file from its start after a truncation, or the file that replaced it at its path. While
    its path does not exist, as during a rotation, it stays open.
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
        """Seek to the position of an earlier run; stay at the start and return False if the file is shorter."""
        if self._is_regular:
            if self._size() < position:
                return False
            self._file.seek(position)
        self.position = position
        return True

    def has_news(self) -> bool:
        """Return whether the path shows anything but this file at this size; costs one system call."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return True
        is_same = (there.st_dev, there.st_ino) == self._identity
        return not (self._is_regular and is_same and there.st_size == self.position)

    def read_into(self, buffer: memoryview) -> int:
        """Read appended bytes that fit the buffer."""
        count = self._file.readinto(buffer) or 0
        self.position += count
        return count

    def successor(self) -> FollowedFile | None:
        """Return the file to continue with, from its start; None while this one may still grow."""
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
        # Check the path before the size, so that the size includes everything written before the replacement.
        there = os.stat(self._path)
        size = self._size()
        is_replaced = (there.st_dev, there.st_ino) != self._identity
        return size < self.position or (is_replaced and size == self.position)


def _open(path: str, flags: int) -> int:
    # Without O_NONBLOCK, opening a named pipe would block until it has a writer.
    return os.open(path, flags | os.O_NONBLOCK)


class StandardInput(Stream):
    """The standard input of the process, whose positions are meaningless to a later process."""

    position = None
    _DESCRIPTOR = 0

    def read_into(self, buffer: memoryview) -> int:
        """Read available bytes that fit the buffer."""
        ready, _, _ = select.select([self._DESCRIPTOR], [], [], 0)
        return os.readv(self._DESCRIPTOR, [buffer]) if ready else 0

    def successor(self) -> None:
        """Return None, since there is only one standard input."""

    def close(self) -> None:
        """Do nothing: the standard input belongs to the process."""
