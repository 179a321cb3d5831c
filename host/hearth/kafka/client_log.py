"""The log of a librdkafka client: unavailable brokers, settings without effect.

It is read from a queue. A callback would run Python on librdkafka's threads, which hold locks meanwhile, and can
deadlock: one thread waits there for the GIL, and another holds the GIL and waits for the lock.
"""

from __future__ import annotations

import ctypes
import logging
from ctypes import c_char_p, c_int

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.kafka_error import check_object
from hearth.kafka.library import EVENT_LOG, library

LOG_SETTING = {"log.queue": "true"}
"""Setting of a client whose log is read here."""
_LEVELS = (*[logging.CRITICAL] * 3, logging.ERROR, logging.WARNING, logging.INFO, logging.INFO, logging.DEBUG)
"""Python's log levels by syslog level."""


class ClientLog:
    """The log of one client, read from the events of its main queue; used by one thread."""

    def __init__(self, client: int, kind: str, queue: int | None = None) -> None:
        """Send the lines to ``queue`` instead of the main queue, if given."""
        self._library = library()
        self._log = logging.getLogger(f"{CLIENT}.{kind}")
        check_object(self._library.set_log_queue(client, queue))

    def take(self, event: int) -> None:
        """Log an event if it is a log line; the caller still owns it."""
        if self._library.event_type(event) != EVENT_LOG:
            return
        what, text, level = c_char_p(), c_char_p(), c_int()
        self._library.event_log(event, ctypes.byref(what), ctypes.byref(text), ctypes.byref(level))
        parts = (each.value or b"" for each in (what, text))
        number = _LEVELS[min(level.value, len(_LEVELS) - 1)]
        self._log.log(number, "%s: %s", *(each.decode(errors="replace") for each in parts))


class LogQueue(ClientLog):
    """The log of one client in a separate queue, read by ``flush``."""

    def __init__(self, client: int, kind: str) -> None:
        self._queue = library().queue_new(client)
        super().__init__(client, kind, self._queue)

    def flush(self) -> None:
        """Write the waiting lines to the log; does not wait."""
        while event := self._library.queue_poll(self._queue, 0):
            try:
                self.take(event)
            finally:
                self._library.event_destroy(event)

    def close(self) -> None:
        """Log the remaining lines, before the client is freed."""
        self.flush()
        self._library.queue_destroy(self._queue)
