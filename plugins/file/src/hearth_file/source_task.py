"""The task that reads the lines of a file."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from hearth_api import STRING_SCHEMA, ConnectError, SourceRecord, TimestampType
from hearth_api.batch import Batch, BatchSourceTask
from hearth_file import VERSION
from hearth_file.line import decode, take_lines
from hearth_file.setting import FILENAME, LARGE_BATCH, POSITION, FileStreamSourceConfig
from hearth_file.stream import FollowedFile, StandardInput
from hearth_file.window import Window

if TYPE_CHECKING:  # the first poll loads Arrow: the connector's process imports this class and never polls
    from hearth_file.line_column import LineColumnReader, LineColumns

LONGEST_PAUSE = 1.0
"""Seconds between checks of a file that is missing or unchanged for 20 seconds, as in Kafka Connect."""
QUIET_AT_FIRST = 3.0
"""Seconds for which a file without data counts as quiet when a task starts."""

_log = logging.getLogger(__name__)
T = TypeVar("T")


class FileStreamSourceTask(BatchSourceTask):
    """Follows a file and returns its complete lines.

    A poll that finds nothing waits before it returns: for a sixteenth of the idle time, at least 1 ms and at most
    20 ms; after several idle seconds for a twentieth of that time, at most a second, which Kafka Connect always waits.
    So a busy file has low latency and an idle one costs almost nothing. Do not call both `poll` and `poll_batch` on
    one instance.
    """

    def version(self) -> str:
        """Return the version of the corresponding Kafka Connect class."""
        return VERSION

    def start(self, props: Mapping[str, str]) -> None:
        """Parse the settings; the first poll that finds the file opens it."""
        config = FileStreamSourceConfig(props)
        self._file = config.file or None
        self._topic = config.topic
        self._limit = max(config.batch_size, 1)
        self._batch_limit = self._limit if "batch.size" in props else LARGE_BATCH
        self._is_stopped = False
        self._running = threading.Lock()
        self._running.acquire()
        self._reading = threading.Lock()
        self._window: Window | None = None
        self._columns: LineColumnReader | None = None
        self._last_line = time.monotonic() - QUIET_AT_FIRST
        self._is_waiting_for_file = False
        self._is_at_end = False

    def poll(self) -> list[SourceRecord] | None:
        """Return the next lines as records, None if there are none yet."""
        lines = self._take(lambda window: take_lines(window, self._limit))
        return self._records(lines) if lines else None

    def poll_batch(self) -> list[Batch] | None:
        """Return the next lines as one batch, None if there are none yet."""
        lines = self._take(self._take_columns)
        return [self._batch(lines)] if lines else None

    def is_exhausted(self) -> bool:
        """Return whether the file was read to its end; False for a pipe and the standard input."""
        with self._reading, contextlib.suppress(OSError):  # the next poll reports it
            return self._is_at_end and self._window is not None and not self._window.has_news()
        return False

    def stop(self) -> None:
        """Wake a waiting poll and close the file; later polls return None."""
        with self._reading:
            if not self._is_stopped:
                self._is_stopped = True
                self._running.release()
            if self._window is not None:
                self._window.close()

    def _take(self, take: Callable[[Window], T]) -> T | None:
        with self._reading:
            lines = None if self._is_stopped else self._try(take)
        if lines:
            self._last_line = time.monotonic()
        else:
            self._wait(self._pause())
        return lines

    def _try(self, take: Callable[[Window], T]) -> T | None:
        try:
            if self._window is None:
                self._window = self._open()
            if self._is_at_end and not self._window.has_news():
                return None
            lines = take(self._window)
            self._is_at_end = not lines
            return lines
        except FileNotFoundError:
            if not self._is_waiting_for_file:
                _log.warning("file %r does not exist yet, waiting for it", self._file)
            self._is_waiting_for_file = True
            return None
        except OSError as error:
            raise ConnectError(f"cannot read file {self._file!r}: {error.strerror or error}") from error

    def _wait(self, seconds: float) -> None:
        """Sleep, or return early when the task stops; waiting for an event would cost as much as the check itself."""
        if self._running.acquire(timeout=seconds):
            self._running.release()

    def _pause(self) -> float:
        now = time.monotonic()
        idle = now - self._last_line
        pause = max(0.001, min(idle / 16, max(0.02, (idle - 1) / 20), LONGEST_PAUSE))
        # Long waits end at a full second for all tasks, so that one task's check warms the caches for the next.
        return pause if pause < LONGEST_PAUSE else LONGEST_PAUSE - now % LONGEST_PAUSE

    def _open(self) -> Window:
        if self._file is None:
            return Window(StandardInput())
        os.stat(self._file)  # if the file is missing, the stored offset is not needed
        position = self._stored_position({FILENAME: self._file})
        file = FollowedFile(self._file)
        if not file.resume(position):
            _log.warning("file %r ends before position %d, reading it from its start", self._file, position)
        return Window(file)

    def _stored_position(self, partition: dict[str, str]) -> int:
        offset = self.context.offset_storage_reader().offset(partition) or {}
        position = offset.get(POSITION)
        if position is None:
            return 0
        if type(position) is not int:
            raise ConnectError("Offset position is the incorrect type")
        return position

    def _take_columns(self, window: Window) -> LineColumns | None:
        from hearth_file.line_column import LineColumnReader

        if self._columns is None:
            self._columns = LineColumnReader(window)
        return self._columns.take(self._batch_limit)

    def _records(self, lines: list[tuple[bytes, int | None]]) -> list[SourceRecord]:
        partition = {FILENAME: self._file}
        now = _now()
        return [
            SourceRecord(
                partition, {POSITION: position}, self._topic,
                value_schema=STRING_SCHEMA, value=decode(line), timestamp=now,
            )
            for line, position in lines
        ]  # fmt: skip

    def _batch(self, lines: LineColumns) -> Batch:
        from hearth_file.line_column import line_record_batch

        data = line_record_batch(lines)
        partition = {FILENAME: self._file}
        # A batch without timestamps gets the current time, which is the time of its lines.
        return Batch(self._topic, None, STRING_SCHEMA, data, partition, TimestampType.CREATE_TIME)


def _now() -> int:
    return time.time_ns() // 1_000_000
