"""Keeps the last lines of the log, by connector, for whoever cannot read this process's error output."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict, deque
from datetime import datetime
from typing import Any

from hearth.foundation.log_context import label_of_record
from hearth.foundation.log_format import is_shown
from hearth.foundation.log_repeat import Repeats
from hearth_execution.failure import cut
from hearth_stage.log_call import LogLine

KEPT_LINES = 1000
"""Lines that are kept of each connector, and of the worker as a whole."""
KEPT_CONNECTORS = 500
LINE_CHARACTERS = 4000
"""A longer line or trace is cut."""


class LogRing(logging.Handler):
    """A log handler that keeps what it gets. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self.addFilter(is_shown)
        self.addFilter(Repeats())
        self.id = secrets.token_hex(4)
        """Differs for each process: numbers of lines of another mean nothing here."""
        self._guard = threading.Lock()
        self._count = 0
        self._lines: OrderedDict[str | None, deque[tuple[int, int, dict[str, Any]]]] = OrderedDict()

    def attach(self) -> None:
        """Keep what this process logs from now on."""
        if self not in logging.root.handlers:
            logging.root.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        line, label = LogLine.of(record), label_of_record(record)
        connector = None if label is None else label.rpartition("|")[0]
        shown = {
            "time": datetime.fromtimestamp(line.time).astimezone().isoformat(timespec="milliseconds"),
            "level": line.level,
            "logger": line.logger,
            "context": label,
            "message": cut(line.text, LINE_CHARACTERS),
        }
        with self._guard:
            self._count += 1
            lines = self._lines.setdefault(connector, deque(maxlen=KEPT_LINES))
            lines.append((self._count, record.levelno, shown))
            self._lines.move_to_end(connector)
            if len(self._lines) > KEPT_CONNECTORS:
                self._lines.popitem(last=False)

    def read(self, connector: str | None, after: int = 0, level: int = 0) -> tuple[list[dict[str, Any]], int]:
        """Return lines about a connector, or about none, from a level on, and the number of the newest line.

        ``after`` is such a number of an earlier call: older lines are left out.
        """
        with self._guard:
            found = self._lines.get(connector, ())
            return [line for number, own, line in found if number > after and own >= level], self._count


recent_lines = LogRing()
"""The ring of this process."""
