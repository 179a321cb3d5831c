"""Copies a process's output to the log and keeps the last lines, both within limits."""

from __future__ import annotations

import io
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from io import BufferedIOBase

from hearth_execution.failure import cut
from hearth_stage.log_budget import LogBudget
from hearth_stage.log_call import MARK, LogLine

LINE_BYTES = 8 << 10
"""Bytes kept of one line."""
LOG_LINE_BYTES = 512 << 10
"""Bytes kept of a logger's line with its trace; the writer cuts those."""
STDOUT, STDERR = "stdout", "stderr"
"""Loggers of standard output and of the error output."""
_MARK = MARK.encode()
_raw = logging.getLogger(STDERR)
PIECE_BYTES = 64 << 10
KEPT_LINES = 200
KEPT_BYTES = 64 << 10
"""How much of the end is kept for the trace."""


class ProcessOutput:
    """Reads the output of a process; drops what exceeds the budget instead of blocking the plugin.

    A line is a record of the process's logging (``LogLine``), or else a warning of the logger ``stderr``. One thread
    calls ``copy``; any thread may read ``end``.
    """

    def __init__(self, write: Callable[[LogLine], object], clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = LogBudget(clock)
        self._write = write
        self._kept: deque[str] = deque()
        self._kept_bytes = 0

    @property
    def end(self) -> str:
        """Return the last lines."""
        return "".join(tuple(self._kept))

    def copy(self, source: BufferedIOBase) -> None:
        """Copy until the process closes its end."""
        while piece := source.readline(LINE_BYTES):
            if piece.startswith(_MARK) and not piece.endswith(b"\n"):
                piece += source.readline(LOG_LINE_BYTES)
            line = piece.decode(errors="replace")
            if not line.endswith("\n"):
                line += _rest(_skip_line(source))
            entry = LogLine.read(line)
            self._keep(line if entry is None else _shown(entry))
            if entry is not None or _raw.isEnabledFor(logging.WARNING):
                self._write_all(self.budget.admit(entry or LogLine("WARN", STDERR, line.rstrip("\n"), time.time())))
            if self.budget.left_out:
                self._skip(source)
        self._write_all(self.budget.close())

    def _keep(self, line: str) -> None:
        self._kept.append(line)
        self._kept_bytes += len(line)
        while len(self._kept) > KEPT_LINES or self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft())

    def _skip(self, source: BufferedIOBase) -> None:
        """Read in large chunks while a flood lasts: parsing each of its lines would cost the host's time."""
        while not self.budget.is_open:
            piece = source.read1(PIECE_BYTES)
            self.budget.left_out += piece.count(b"\n")
            for line in io.StringIO(piece[-LINE_BYTES:].decode(errors="replace")):
                self._keep(line if (entry := LogLine.read(line)) is None else _shown(entry))
            if len(piece) <= LINE_BYTES:
                return  # the flood has ended

    def _write_all(self, lines: Iterable[LogLine]) -> None:
        for each in lines:
            self._write(each)


def _shown(line: LogLine) -> str:
    """Return a line as a trace shows it: printed lines as they are, log lines with level and logger."""
    text = cut(line.text, LINE_BYTES)
    return f"{text}\n" if line.logger in (STDOUT, STDERR) else f"{line.level} {line.logger}: {text}\n"


def _skip_line(source: BufferedIOBase) -> int:
    """Read to the end of the line and return the number of bytes."""
    skipped = 0
    while piece := source.readline(LINE_BYTES):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _rest(skipped: int) -> str:
    """Return the replacement for the rest of a line; the last line may lack its line feed."""
    return f" ... {skipped} bytes left out ...\n" if skipped > 1 else "\n"
