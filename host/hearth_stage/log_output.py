"""The log of a stage's process: whatever a plugin logs or prints leaves it at once, line by line, on its error output.

What a logger says keeps its level and its name, as a ``LogLine``; what is printed is the logger ``stdout``'s. What
is written to the error output itself, by C or by a program that the plugin started, is a line as it stands there.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import threading

from hearth_stage.log_call import LogLine

OUTPUT, ERROR_OUTPUT = 1, 2


class ErrorOutputHandler(logging.Handler):
    """Writes each line in one piece, past all buffers: a process that is killed has said what it said."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        rest = LogLine.of(record).written().encode("utf-8", "backslashreplace")
        try:
            while rest:
                rest = rest[os.write(ERROR_OUTPUT, rest) :]
        except OSError:
            pass  # nobody reads it any more: the process is about to end


class PrintedLines(io.TextIOWrapper):
    """What stands in the place of the standard output: its lines become those of a logger.

    A line belongs to the thread that wrote it, so those of two threads do not mix. What is written to its ``buffer``
    or its file descriptor goes past it.
    """

    def __init__(self) -> None:
        super().__init__(io.FileIO(OUTPUT, "w", closefd=False), "utf-8", "backslashreplace")
        self._log = logging.getLogger("stdout")
        self._mine = threading.local()

    def write(self, text: str) -> int:
        """Log the lines that end in a text, and keep the rest."""
        *lines, begun = (getattr(self._mine, "begun", "") + text).split("\n")
        self._mine.begun = begun
        for line in lines:
            self._log.info("%s", line)
        return len(text)

    def flush(self) -> None:
        """Log what is no whole line yet: who flushes wants it to be read."""
        begun = getattr(self._mine, "begun", "")
        if begun:
            self._mine.begun = ""
            self._log.info("%s", begun)


def begin_log() -> None:
    """Let the loggers and the standard output of this process write to its error output."""
    logging.basicConfig(level=logging.INFO, handlers=[ErrorOutputHandler()])
    logging.captureWarnings(True)
    sys.stdout = PrintedLines()
