"""The error output of a stage process: copied to the host's log and remembered, both within limits."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from io import BufferedIOBase

LINE_BYTES = 8 << 10
"""What is kept of one line."""
PIECE_BYTES = 64 << 10
KEPT_LINES = 200
KEPT_BYTES = 64 << 10
"""How much of the end is kept for the trace."""
BURST_BYTES = 1 << 20
BYTES_A_SECOND = 64 << 10
"""How much may go to the log at once, and how much in the long run: a plugin may write without end."""


class ErrorOutput:
    """Reads what a process writes, for as long as it writes: a plugin that talks too much is cut short, not held up.

    One thread calls ``copy``; ``end`` may be asked for by any.
    """

    def __init__(self, name: str, write: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._write = write
        self._clock = clock
        self._kept: deque[str] = deque()
        self._kept_bytes = 0
        self._budget = float(BURST_BYTES)
        self._counted_at = clock()
        self._left_out = 0

    @property
    def end(self) -> str:
        """Return the last lines."""
        return "".join(tuple(self._kept))

    def copy(self, source: BufferedIOBase) -> None:
        """Copy until the process has closed its end."""
        while piece := source.readline(LINE_BYTES):
            line = piece.decode(errors="replace")
            if not line.endswith("\n"):
                line += _rest(_skip_line(source))
            self._keep(line)
            self._log(line)
            if self._left_out:
                self._skip(source)
        self._tell_left_out()

    def _keep(self, line: str) -> None:
        self._kept.append(line)
        self._kept_bytes += len(line)
        while len(self._kept) > KEPT_LINES or self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft())

    def _skip(self, source: BufferedIOBase) -> None:
        """Read on in large pieces while they come: looking at every line of a flood would take the host's time."""
        while not self._may_log(0):
            piece = source.read1(PIECE_BYTES)
            self._left_out += piece.count(b"\n")
            for line in piece[-LINE_BYTES:].decode(errors="replace").splitlines(keepends=True):
                self._keep(line)
            if len(piece) <= LINE_BYTES:
                return  # no flood any more

    def _may_log(self, size: int) -> bool:
        now = self._clock()
        self._budget = min(BURST_BYTES, self._budget + (now - self._counted_at) * BYTES_A_SECOND)
        self._counted_at = now
        return self._budget >= (max(size, BURST_BYTES // 4) if self._left_out else size)

    def _log(self, line: str) -> None:
        if not self._may_log(len(line)):
            self._left_out += 1
            return
        self._tell_left_out()
        self._budget -= len(line)
        self._write(f"[{self._name}] {line}")

    def _tell_left_out(self) -> None:
        if self._left_out:
            self._write(f"[{self._name}] ... {self._left_out} lines left out, the log takes no more of a stage ...\n")
            self._left_out = 0


def _skip_line(source: BufferedIOBase) -> int:
    """Read to the end of the line and return how many bytes that were."""
    skipped = 0
    while piece := source.readline(LINE_BYTES):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _rest(skipped: int) -> str:
    """Return what stands in the place of a line's rest; a line without end may just be the last."""
    return f" ... {skipped} bytes left out ...\n" if skipped > 1 else "\n"
