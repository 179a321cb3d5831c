"""The log of a stage's process: whatever a plugin logs or prints leaves it at once, line by line, on its error output.

What a logger says keeps its level and its name, as a ``LogLine``; what is printed is the logger ``stdout``'s, and what
Python writes to its error output, the trace of a thread that ended badly say, is the logger ``stderr``'s. What is
written past both, by C or by a program that the plugin started, is a line as it stands there.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import threading

from hearth_stage.log_budget import LogBudget
from hearth_stage.log_call import LogLine
from hearth_stage.tenancy import follow_threads

OUTPUT, ERROR_OUTPUT = 1, 2


class ErrorOutputHandler(logging.Handler):
    """Writes each line in one piece, past all buffers: a process that is killed has said what it said.

    Of those that share the process nobody takes the others' part of the log: each has a budget of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._budgets: dict[int, LogBudget] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; called under the handler's lock."""
        line = LogLine.of(record)
        if line.tenant == 0:
            _write(line)
            return
        for each in self._budgets.setdefault(line.tenant, LogBudget()).admit(line):
            _write(each)

    def forget(self, tenant: int) -> None:
        """Write how much was left out of what somebody has said who is gone."""
        with self.lock or contextlib.nullcontext():
            budget = self._budgets.pop(tenant, None)
            for each in budget.close(tenant) if budget is not None else ():
                _write(each)


def _write(line: LogLine) -> None:
    rest = line.written().encode("utf-8", "backslashreplace")
    try:
        while rest:
            rest = rest[os.write(ERROR_OUTPUT, rest) :]
    except OSError:
        pass  # nobody reads it any more: the process is about to end


class PrintedLines(io.TextIOWrapper):
    """What stands in the place of an output: its lines become those of a logger, which no other handler sees.

    A plugin's own may write to this very output. A line belongs to the thread that wrote it, so those of two threads
    do not mix. What is written to its ``buffer`` or its file descriptor goes past it.
    """

    def __init__(self, descriptor: int, logger: str, level: int, handler: logging.Handler) -> None:
        super().__init__(io.FileIO(descriptor, "w", closefd=False), "utf-8", "backslashreplace")
        self._log, self._level = logging.getLogger(logger), level
        self._log.handlers, self._log.propagate = [handler], False
        self._mine = threading.local()

    def write(self, text: str) -> int:
        """Log the lines that end in a text, and keep the rest."""
        *lines, begun = (getattr(self._mine, "begun", "") + text).split("\n")
        self._mine.begun = begun
        for line in lines:
            self._log.log(self._level, "%s", line)
        return len(text)

    def flush(self) -> None:
        """Log what is no whole line yet: who flushes wants it to be read."""
        begun = getattr(self._mine, "begun", "")
        if begun:
            self._mine.begun = ""
            self._log.log(self._level, "%s", begun)


_handler = ErrorOutputHandler()
"""The one of this process, where its log has begun."""


def forget_lines_of(tenant: int) -> None:
    """Say how much was left out of what a tenant has said, who is gone."""
    _handler.forget(tenant)


def begin_log() -> None:
    """Let the loggers of this process, and what it prints, write to its error output, each line for whom it is."""
    handler = _handler
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.captureWarnings(True)
    sys.stdout = PrintedLines(OUTPUT, "stdout", logging.INFO, handler)
    sys.stderr = PrintedLines(ERROR_OUTPUT, "stderr", logging.WARNING, handler)
    follow_threads()
