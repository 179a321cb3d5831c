"""The logging context of a log line: `NAME|worker`, `NAME|task-0`, as in Kafka Connect's `LoggingContext`.

A thread has a context while it works for a connector or task; a process for a single one sets it once.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from contextvars import ContextVar

from hearth_stage.level import LEVELS
from hearth_stage.log_call import LogLine

_label: ContextVar[str | None] = ContextVar("log_context", default=None)


def label_of(connector: str, task: int | None = None, scope: str = "worker") -> str:
    """Return the context of a connector, or of one of its tasks."""
    return f"{connector}|{scope}" if task is None else f"{connector}|task-{task}"


@contextlib.contextmanager
def about(label: str | None) -> Iterator[None]:
    """Set the context of this thread within the block; None for the host as a whole."""
    token = _label.set(label)
    try:
        yield
    finally:
        _label.reset(token)


def current_label() -> str | None:
    """Return the context of this thread; None for the host as a whole."""
    return _label.get()


def label_of_record(record: logging.LogRecord) -> str | None:
    """Return the context of a record; None for the host as a whole."""
    label: str | None = getattr(record, "label", None)
    return label or current_label()


def hand_on(line: LogLine, label: str | None) -> None:
    """Log a line of another process, whose loggers have already applied their levels."""
    record = logging.LogRecord(line.logger, LEVELS.get(line.level, logging.WARNING), "", 0, "%s", (line.text,), None)
    record.created, record.msecs = line.time, line.time % 1 * 1000
    record.label = label
    logging.root.handle(record)
