"""The part of a stream that was read and not yet handed out."""

from __future__ import annotations

from hearth_file.stream import Stream

CHUNK = 1 << 20
"""Bytes a window holds; more only where a single line needs it."""
LEAST = 4 << 10
"""... as long as no more comes at a time: most files are quiet mostly, and there may be hundreds."""
_GROWTH = 16
"""What it grows by with a read that fills it: its first lines do not wait for memory that only more of them need."""


class Window:
    """Bytes `at` to `end` of `data`: read from a stream, not yet handed out.

    The memory is used again and again, since fresh memory for every read would cost more than the reading. It is
    given back at the end of the stream.
    It moves on to the stream's successor by itself, and only when the last line of the stream was handed
    out: so every place in the window has one position. Where a stream has a successor its end also ends its
    last line.
    """

    def __init__(self, stream: Stream, chunk: int = CHUNK) -> None:
        """Start empty, where the stream stands."""
        self.chunk = chunk
        self.data = bytearray(min(chunk, LEAST))
        self.at = 0
        self.end = 0
        self._stream = stream
        self._next: Stream | None = None
        self._start = stream.position

    def position(self, place: int) -> int | None:
        """Return the position in the stream of a place in `data`; None where positions mean nothing."""
        return None if self._start is None else self._start + place

    def has_news(self) -> bool:
        """Return whether there may be more than what was taken when nothing could be taken any more."""
        return self._next is not None or self._stream.has_news()

    def refill(self) -> None:
        """Drop what was handed out and read once more; what is left starts at 0 afterwards."""
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
