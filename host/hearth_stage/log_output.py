"""The log of a stage process: all that a plugin logs or prints is written at once, by line, to its error output.

A log record keeps its level and logger as a ``LogLine``; printed text gets the logger ``stdout``, and what Python
writes to its error output, such as the trace of a failed thread, the logger ``stderr``. Output that bypasses both,
from C or from a program that the plugin started, is an unmarked line.
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
    """Writes each line at once, without buffers, so that nothing is lost if the process is killed.

    Each tenant of a shared process has its own budget, so none can use up the others' share of the log.
    """

    def __init__(self) -> None:
        super().__init__()
        self._budgets: dict[int, LogBudget] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; called under the handler's lock."""
        line = LogLine.of(record)
        if line.tenant == 0:
            _write(line)
            return
        for each in self._budgets.setdefault(line.tenant, LogBudget()).admit(line):
            _write(each)

    def forget(self, tenant: int) -> None:
        """Write how many lines of a departed tenant were dropped."""
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
        pass  # the reader is gone: the process is about to end


class PrintedLines(io.TextIOWrapper):
    """Replaces an output stream; logs its lines with a logger of its own, which other handlers do not see.

    A plugin's logging handler may write to this very output. Each thread has its own current line, so lines of two
    threads do not mix. Writes to its ``buffer`` or file descriptor bypass it.
    """

    def __init__(self, descriptor: int, logger: str, level: int, handler: logging.Handler) -> None:
        super().__init__(io.FileIO(descriptor, "w", closefd=False), "utf-8", "backslashreplace")
        self._log, self._level = logging.getLogger(logger), level
        self._log.handlers, self._log.propagate = [handler], False
        self._mine = threading.local()

    def write(self, text: str) -> int:
        """Log the complete lines, and keep the rest."""
        *lines, begun = (getattr(self._mine, "begun", "") + text).split("\n")
        self._mine.begun = begun
        for line in lines:
            self._log.log(self._level, "%s", line)
        return len(text)

    def flush(self) -> None:
        """Log an incomplete line as well: flushing means that it should be read."""
        begun = getattr(self._mine, "begun", "")
        if begun:
            self._mine.begun = ""
            self._log.log(self._level, "%s", begun)


_handler = ErrorOutputHandler()
"""The handler of this process, once its log is set up."""


def forget_lines_of(tenant: int) -> None:
    """Write how many lines of a departed tenant were dropped."""
    _handler.forget(tenant)


def begin_log() -> None:
    """Direct this process's loggers and printed output to its error output, labeled by tenant."""
    handler = _handler
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.captureWarnings(True)
    sys.stdout = PrintedLines(OUTPUT, "stdout", logging.INFO, handler)
    sys.stderr = PrintedLines(ERROR_OUTPUT, "stderr", logging.WARNING, handler)
    follow_threads()
