"""What is said of the log between processes: a line on its way to it, and what is to be written at all."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field, replace

from hearth_execution.failure import TRACE_CHARACTERS, cut
from hearth_stage.call import Notice, decoded, encoded, operations
from hearth_stage.level import level_of
from hearth_stage.tenancy import current_tenant

MARK = "\x1e"
"""What a line begins with that is a ``LogLine`` in JSON, as in a JSON text sequence (RFC 7464)."""
TEXT_CHARACTERS = TRACE_CHARACTERS
"""More of a text than that is left out: it may be a trace."""

_text_of = logging.Formatter("%(message)s").format


@dataclass(frozen=True)
class LogLine(Notice, op="log"):
    """A line of the log, of several lines where it has a trace; ``time`` is in seconds since 1970.

    ``tenant`` is who has said it of those that share a stage.
    """

    level: str
    logger: str
    text: str
    time: float
    tenant: int = 0

    @classmethod
    def of(cls, record: logging.LogRecord) -> LogLine:
        """Return what a logger of this process said, with its trace."""
        try:
            text = _text_of(record)
        except Exception as error:  # the arguments do not fit the text: that is the plugin's, and no reason to be mute
            text = f"{record.msg} {record.args!r} ({type(error).__name__}: {error})"
        return cls(level_of(record.levelno), record.name, _readable(text), record.created, current_tenant())

    @classmethod
    def read(cls, line: str) -> LogLine | None:
        """Return what ``written`` wrote; None for every other line, whose process has no such form."""
        if not line.startswith(MARK):
            return None
        try:
            found: LogLine = decoded(cls, json.loads(line[len(MARK) :]), [])
        except (ValueError, TypeError, RecursionError):
            return None
        return replace(found, text=_readable(found.text))

    def written(self) -> str:
        """Return it as a line of an error output."""
        return f"{MARK}{json.dumps(encoded(self)[0], ensure_ascii=False)}\n"


def _readable(text: str) -> str:
    """Return a text that is not too long and has nothing in it that UTF-8 cannot hold."""
    return cut(text, TEXT_CHARACTERS).rstrip("\n").encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True)
class SetLevels(Notice, op="levels"):
    """What is written of each namespace from now on, by log4j's names, in the order in which that was said."""

    levels: dict[str, str] = field(default_factory=dict)


TO_STAGE = operations(SetLevels)
