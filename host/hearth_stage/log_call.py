"""Messages about the log: a line to write, and the levels of loggers."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field, replace

from hearth_execution.failure import TRACE_CHARACTERS, cut
from hearth_stage.call import Notice, decoded, encoded, operations
from hearth_stage.level import level_of
from hearth_stage.tenancy import current_tenant

MARK = "\x1e"
"""First character of a line that is a ``LogLine`` in JSON, as in a JSON text sequence (RFC 7464)."""
TEXT_CHARACTERS = TRACE_CHARACTERS
"""Longer texts are cut; a text may contain a trace."""

_text_of = logging.Formatter("%(message)s").format


@dataclass(frozen=True)
class LogLine(Notice, op="log"):
    """A log record, with several lines if it has a trace; ``time`` is in seconds since 1970.

    ``tenant`` is the tenant of the stage that logged it.
    """

    level: str
    logger: str
    text: str
    time: float
    tenant: int = 0

    @classmethod
    def of(cls, record: logging.LogRecord) -> LogLine:
        """Convert a record of this process's loggers, with its trace."""
        try:
            text = _text_of(record)
        except Exception as error:  # arguments that do not fit the text are the plugin's error; log both
            text = f"{record.msg} {record.args!r} ({type(error).__name__}: {error})"
        return cls(level_of(record.levelno), record.name, _readable(text), record.created, current_tenant())

    @classmethod
    def read(cls, line: str) -> LogLine | None:
        """Parse the result of ``written``; None for any other line."""
        if not line.startswith(MARK):
            return None
        try:
            found: LogLine = decoded(cls, json.loads(line[len(MARK) :]), [])
        except (ValueError, TypeError, RecursionError):
            return None
        return replace(found, text=_readable(found.text))

    def written(self) -> str:
        """Return the record as a line of an error output."""
        return f"{MARK}{json.dumps(encoded(self)[0], ensure_ascii=False)}\n"


def _readable(text: str) -> str:
    """Return a text of limited length without characters that UTF-8 cannot encode."""
    return cut(text, TEXT_CHARACTERS).rstrip("\n").encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class SetLevels(Notice, op="levels"):
    """Sets the log level of each namespace, by log4j's names, in the given order."""

    levels: dict[str, str] = field(default_factory=dict)


TO_STAGE = operations(SetLevels)
