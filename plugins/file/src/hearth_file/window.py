"""The buffered part of a stream that was read and not yet consumed."""

from __future__ import annotations

from hearth_file.stream import Stream

CHUNK = 1 << 20
"""Capacity of a window in bytes; it grows beyond this only for a longer line."""
LEAST = 4 << 10
"""Initial capacity: most files are idle, and a worker may follow hundreds."""
_GROWTH = 16
"""Growth factor after a read that fills the window, so that the first lines do not wait for a large allocation."""


class Window:
    """Bytes `at` to `end` of `data`, read from a stream and not yet consumed.

    The buffer is reused, because allocating memory for each read would cost more than the read, and is released at the
    end of the stream. The window continues with the stream's successor only after the last line was consumed, so that
    every index in it has one position. The end of a stream with a successor also ends its last line.
    """

    def __init__(self, stream: Stream, chunk: int = CHUNK) -> None:
        """Start empty at the stream's position."""
        self.chunk = chunk
        self.data = bytearray(min(chunk, LEAST))
        self.at = 0
        self.end = 0
        self._stream = stream
        self._next: Stream | None = None
        self._start = stream.position

    def position(self, place: int) -> int | None:
        """Return the stream position of an index in `data`; None for a stream without positions."""
        return None if self._start is None else self._start + place

    def has_news(self) -> bool:
        """Return whether the stream may have more data since it was last exhausted."""
        return self._next is not None or self._stream.has_news()

    def refill(self) -> None:
        """Drop consumed bytes and read once; the remaining bytes then start at index 0."""
        self._drop()
        if self._next is not None and not self._move_on():
            return
        if self._read():
            if self.end == len(self.data) < self.chunk:
                self.data = self.data + bytes(min(self.chunk, _GROWTH * self.end) - self.end)
                self._read()
            return
        self._next = self._stream.successor()
        if self._next is not None:
            self._end_line()
        elif not self.end and len(self.data) > LEAST:
            self.data = bytearray(LEAST)

    def close(self) -> None:
        """Close the streams."""
        for stream in (self._stream, self._next):
            if stream is not None:
                stream.close()

    def _read(self) -> int:
        with memoryview(self.data) as view:
            count = self._stream.read_into(view[self.end :])
        self.end += count
        return count

    def _drop(self) -> None:
        left = self.end - self.at
        size = min(len(self.data), self.chunk)
        while size < 2 * left:
            size *= 2
        rest = self.data[self.at : self.end]
        if size != len(self.data):
            self.data = bytearray(size)
        self.data[:left] = rest
        self._start = self.position(self.at)
        self.at, self.end = 0, left

    def _move_on(self) -> bool:
        if self.end or self._next is None:
            return False
        self._stream.close()
        self._stream, self._next = self._next, None
        self._start = self._stream.position
        return True

    def _end_line(self) -> None:
        if self.end and self.data[self.end - 1] != ord("\n"):
            self.data[self.end] = ord("\n")
            self.end += 1
