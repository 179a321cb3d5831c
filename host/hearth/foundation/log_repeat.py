"""Limits repeated log lines: logs them a few times per minute and counts the rest."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from hearth.foundation.log_context import label_of_record
from hearth_stage.log_call import LogLine

SECONDS = 60.0
MOST = 20
"""How often the same line is logged within a minute."""
MOST_OF_CLIENT = 3
"""The same for a Kafka client, which repeats a line with other numbers as long as a broker is unavailable."""
CLIENT = "librdkafka"
"""The logger of librdkafka's own messages, and the prefix of related loggers."""
_KEPT = 1_000
_NUMBER = re.compile(r"\d+(\.\d+)?")


@dataclass
class _Seen:
    """How often a line was logged since a time."""

    since: float
    count: int = 0


class Repeats(logging.Filter):
    """Drops a line that was logged too often within a minute; the next one that passes counts the dropped ones."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str | None, ...], _Seen] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a line."""
        line = LogLine.of(record)
        is_client = line.logger.startswith(CLIENT)
        most = MOST_OF_CLIENT if is_client else MOST
        text = _NUMBER.sub("#", line.text) if is_client else line.text
        with self._lock:
            count, left_out = self._count((label_of_record(record), line.logger, line.level, text), most)
        if left_out:
            _add(record, line, f"{left_out} more times since it was last logged")
        elif count == most:
            _add(record, line, f"{count} times within {SECONDS:g} s, further ones are only counted")
        return count <= most

    def _count(self, key: tuple[str | None, ...], most: int) -> tuple[int, int]:
        """Return how often a line was logged in its minute, and how often it was dropped in the previous one."""
        now = self._clock()
        seen = self._seen.pop(key, None)
        left_out = 0
        if seen is None or now - seen.since >= SECONDS:
            left_out = 0 if seen is None else max(0, seen.count - most)
            seen = _Seen(now)
        seen.count += 1
        self._seen[key] = seen
        if len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return seen.count, left_out


def _add(record: logging.LogRecord, line: LogLine, note: str) -> None:
    """Add a note to the first line of a record."""
    first, *rest = line.text.split("\n")
    record.msg, record.args = "\n".join([f"{first} ({note})", *rest]), ()
    record.exc_info = record.exc_text = record.stack_info = None  # already part of the text
