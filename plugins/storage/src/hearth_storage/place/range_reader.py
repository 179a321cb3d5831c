"""A seekable file over a place's ranges."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hearth_storage.place.place import Place

AHEAD = 4 * 1024 * 1024
"""Bytes of the fewest that a range has, so that small reads share a request."""


class RangeReader(io.RawIOBase):
    """Reads a file of a place in ranges of at least `AHEAD` bytes."""

    def __init__(self, place: Place, name: str, size: int) -> None:
        super().__init__()
        self._place = place
        self._name = name
        self._size = size
        self._position = 0
        self._start, self._kept = 0, b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the next read."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, origin + offset)
        return self._position

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as the file goes."""
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        start = self._position - self._start
        if start < 0 or start + wanted > len(self._kept):
            self._start = self._position
            self._kept = self._place.read(
                self._name, self._position, min(max(wanted, AHEAD), self._size - self._start)
            )
            start = 0
        part = self._kept[start : start + wanted]
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)
