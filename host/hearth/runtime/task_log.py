"""The log of a task's process: its lines go to its host, and to its own error output while there is none."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

from hearth.foundation.log_format import TextFormat
from hearth.foundation.log_repeat import Repeats
from hearth.runtime.link import TaskLink
from hearth_stage.channel import ChannelClosed
from hearth_stage.log_call import LogLine


class TaskLog(logging.Handler):
    """Hands what is logged in this process to the host of the task that runs here, if one does."""

    def __init__(self) -> None:
        super().__init__()
        self.addFilter(Repeats())
        self._link: TaskLink | None = None
        self._here = logging.StreamHandler(sys.stderr)
        self._here.setFormatter(TextFormat())

    @contextlib.contextmanager
    def through(self, link: TaskLink) -> Iterator[None]:
        """Let the lines of this block go to a host."""
        self._link = link
        try:
            yield
        finally:
            self._link = None

    def emit(self, record: logging.LogRecord) -> None:
        """Tell the host, or this process's error output."""
        link = self._link
        if link is not None:
            with contextlib.suppress(ChannelClosed):
                link.say(LogLine.of(record))
                return
        self._here.handle(record)


def begin_task_log() -> TaskLog:
    """Return the log of this process, which begins once, however many tasks run here."""
    for handler in logging.root.handlers:
        if isinstance(handler, TaskLog):
            return handler
    begun = TaskLog()
    logging.basicConfig(level=logging.INFO, handlers=[begun], force=True)
    logging.captureWarnings(True)
    return begun
