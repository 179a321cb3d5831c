"""What is said again and again: told some times a minute, and counted beyond that."""

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
"""How often the same is told within a minute."""
MOST_OF_CLIENT = 3
"""... by a client of Kafka, which says it for as long as a broker is away, each time with other numbers."""
CLIENT = "librdkafka"
"""The logger of what librdkafka says by itself, and the first part of the names of others that do."""
_KEPT = 1_000
_NUMBER = re.compile(r"\d+(\.\d+)?")


@dataclass
class _Seen:
    """How often something was said since a moment."""

    since: float
    count: int = 0


class Repeats(logging.Filter):
    """Lets a line pass unless the same was told too often within a minute; the next that passes says how often."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str | None, ...], _Seen] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line is to be told."""
        line = LogLine.of(record)
        is_client = line.logger.startswith(CLIENT)
        most = MOST_OF_CLIENT if is_client else MOST
        text = _NUMBER.sub("#", line.text) if is_client else line.text
        with self._lock:
            count, left_out = self._count((label_of_record(record), line.logger, line.level, text), most)
        if left_out:
            _add(record, line, f"{left_out} times more since it was told last")
        elif count == most:
            _add(record, line, f"{count} times within {SECONDS:g} s, now it is counted only")
        return count <= most

    def _count(self, key: tuple[str | None, ...], most: int) -> tuple[int, int]:
        """Return how often something was said in its minute, and how often it was left out in the one before."""
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
    """Add a note to the first line of what is told."""
    first, *rest = line.text.split("\n")
    record.msg, record.args = "\n".join([f"{first} ({note})", *rest]), ()
    record.exc_info = record.exc_text = record.stack_info = None  # which is in the text by now
