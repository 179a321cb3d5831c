"""Whom a line of the log is about: `NAME|worker`, `NAME|task-0`, as in Kafka Connect's `LoggingContext`.

What a thread logs is about whom it works for at the moment; a process that works for one alone says so once.
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
    """Return how lines about a connector are marked, or about one of its tasks."""
    return f"{connector}|{scope}" if task is None else f"{connector}|task-{task}"


@contextlib.contextmanager
def about(label: str | None) -> Iterator[None]:
    """Let what this thread logs in this block be about somebody, or about the host as a whole."""
    token = _label.set(label)
    try:
        yield
    finally:
        _label.reset(token)


def current_label() -> str | None:
    """Return whom this thread works for, None where it is the host as a whole."""
    return _label.get()


def label_of_record(record: logging.LogRecord) -> str | None:
    """Return whom a record is about, None where it is about the host as a whole."""
    label: str | None = getattr(record, "label", None)
    return label or current_label()


def hand_on(line: LogLine, label: str | None) -> None:
    """Log here what another process said; its loggers judged whether it was to be said."""
    record = logging.LogRecord(line.logger, LEVELS.get(line.level, logging.WARNING), "", 0, "%s", (line.text,), None)
    record.created, record.msecs = line.time, line.time % 1 * 1000
    record.label = label
    logging.root.handle(record)
