"""The log of a task's process: lines go to its host, and to stderr while there is none."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hearth.foundation.log_context import current_label, label_of_record
from hearth.foundation.log_format import TextFormat
from hearth.foundation.log_repeat import Repeats
from hearth_stage.channel import ChannelClosed
from hearth_stage.log_call import LogLine

if TYPE_CHECKING:
    from hearth.runtime.link import TaskLink


READ_BY_HOST = "HEARTH_LOG_IS_READ_BY_HOST"
"""Environment variable of an executor whose stderr the host reads line by line, as it reads a stage's."""


class TaskLog(logging.Handler):
    """Sends the log lines of this process to the host of its task, if one runs.

    With several tasks each line goes over the link of the task that it is about.
    """

    def __init__(self) -> None:
        super().__init__()
        self.addFilter(Repeats())
        self._links: dict[str | None, TaskLink] = {}
        self._here = logging.StreamHandler(sys.stderr)
        self._here.setFormatter(_WrittenFormat() if os.environ.get(READ_BY_HOST) else TextFormat())

    @contextlib.contextmanager
    def through(self, link: TaskLink) -> Iterator[None]:
        """Send the lines of this block, and others about the same task, to a host."""
        label = current_label()
        self._links = {**self._links, label: link}
        try:
            yield
        finally:
            self._links = {each: other for each, other in self._links.items() if other is not link}

    def emit(self, record: logging.LogRecord) -> None:
        """Send a line to the host, or to stderr."""
        links = self._links
        only = next(iter(links.values())) if len(links) == 1 else None
        if (link := links.get(label_of_record(record), only)) is not None:
            with contextlib.suppress(ChannelClosed):
                link.say(LogLine.of(record))
                return
        self._here.handle(record)


class _WrittenFormat(logging.Formatter):
    """Lines in the form that a host reads, with their task as a prefix."""

    def format(self, record: logging.LogRecord) -> str:
        line, label = LogLine.of(record), label_of_record(record)
        return replace(line, text=f"[{label}] {line.text}" if label else line.text).written().rstrip("\n")


def begin_task_log() -> TaskLog:
    """Return the log of this process, which is created once, however many tasks run here."""
    for handler in logging.root.handlers:
        if isinstance(handler, TaskLog):
            return handler
    begun = TaskLog()
    logging.basicConfig(level=logging.INFO, handlers=[begun], force=True)
    logging.captureWarnings(True)
    return begun
