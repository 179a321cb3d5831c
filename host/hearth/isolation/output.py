"""The output of a process: each line goes to the log, and the last are remembered, both within limits."""

from __future__ import annotations

import io
import logging
import time
from collections import deque
from collections.abc import Callable
from io import BufferedIOBase

from hearth_execution.failure import cut
from hearth_stage.log_call import MARK, LogLine

LINE_BYTES = 8 << 10
"""What is kept of one line."""
LOG_LINE_BYTES = 512 << 10
"""... of one that says what a logger said, with its trace: those are cut by who writes them."""
STDOUT, STDERR = "stdout", "stderr"
"""The loggers of what is printed, and of what is written to the error output."""
_MARK = MARK.encode()
_raw = logging.getLogger(STDERR)
PIECE_BYTES = 64 << 10
KEPT_LINES = 200
KEPT_BYTES = 64 << 10
"""How much of the end is kept for the trace."""
BURST_BYTES = 1 << 20
BYTES_A_SECOND = 64 << 10
"""How much may go to the log at once, and how much in the long run: a plugin may write without end."""


class ProcessOutput:
    """Reads what a process writes, for as long as it writes: a plugin that talks too much is cut short, not held up.

    A line is what a logger of the process said (``LogLine``), or else a warning of the logger ``stderr``. One thread
    calls ``copy``; ``end`` may be asked for by any.
    """

    def __init__(self, write: Callable[[LogLine], object], clock: Callable[[], float] = time.monotonic) -> None:
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
            if piece.startswith(_MARK) and not piece.endswith(b"\n"):
                piece += source.readline(LOG_LINE_BYTES)
            line = piece.decode(errors="replace")
            if not line.endswith("\n"):
                line += _rest(_skip_line(source))
            said = LogLine.read(line)
            self._keep(line if said is None else _remembered(said))
            if said is not None or _raw.isEnabledFor(logging.WARNING):
                self._log(said or LogLine("WARN", STDERR, line.rstrip("\n"), time.time()))
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
            for line in io.StringIO(piece[-LINE_BYTES:].decode(errors="replace")):
                self._keep(line if (said := LogLine.read(line)) is None else _remembered(said))
            if len(piece) <= LINE_BYTES:
                return  # no flood any more

    def _may_log(self, size: int) -> bool:
        now = self._clock()
        self._budget = min(BURST_BYTES, self._budget + (now - self._counted_at) * BYTES_A_SECOND)
        self._counted_at = now
        return self._budget >= (max(size, BURST_BYTES // 4) if self._left_out else size)

    def _log(self, line: LogLine) -> None:
        size = len(line.text)
        if not self._may_log(size):
            self._left_out += 1
            return
        self._tell_left_out()
        self._budget -= size
        self._write(line)

    def _tell_left_out(self) -> None:
        if self._left_out:
            text = f"... {self._left_out} lines left out, the log takes no more of a process ..."
            self._write(LogLine("WARN", STDERR, text, time.time()))
            self._left_out = 0


def _remembered(line: LogLine) -> str:
    """Return what a trace shows of a line: what was printed needs no more."""
    text = cut(line.text, LINE_BYTES)
    return f"{text}\n" if line.logger in (STDOUT, STDERR) else f"{line.level} {line.logger}: {text}\n"


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
