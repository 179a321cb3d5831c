"""What a client of librdkafka says by itself: of brokers that are away, of settings that do nothing.

It is taken from a queue. A callback would run Python on librdkafka's threads, which hold its locks meanwhile: one that
waits there for the interpreter, for which another waits with the interpreter in hand, waits for ever.
"""

from __future__ import annotations

import ctypes
import logging
from ctypes import c_char_p, c_int

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.kafka_error import check_object
from hearth.kafka.library import EVENT_LOG, library

LOG_SETTING = {"log.queue": "true"}
"""The setting of a client whose log is read here."""
_LEVELS = (*[logging.CRITICAL] * 3, logging.ERROR, logging.WARNING, logging.INFO, logging.INFO, logging.DEBUG)
"""Python's levels of syslog's."""


class ClientLog:
    """The log of one client, whose lines come among the events of its main queue; used by one thread."""

    def __init__(self, client: int, kind: str, queue: int | None = None) -> None:
        """Have the lines come in another queue than the main one, where one is named."""
        self._library = library()
        self._log = logging.getLogger(f"{CLIENT}.{kind}")
        check_object(self._library.set_log_queue(client, queue))

    def take(self, event: int) -> None:
        """Log what an event says, if it is a line of the log; it stays the caller's."""
        if self._library.event_type(event) != EVENT_LOG:
            return
        what, text, level = c_char_p(), c_char_p(), c_int()
        self._library.event_log(event, ctypes.byref(what), ctypes.byref(text), ctypes.byref(level))
        said = (each.value or b"" for each in (what, text))
        number = _LEVELS[min(level.value, len(_LEVELS) - 1)]
        self._log.log(number, "%s: %s", *(each.decode(errors="replace") for each in said))


class LogQueue(ClientLog):
    """The log of one client in a queue of its own, which is read when its owner has a moment."""

    def __init__(self, client: int, kind: str) -> None:
        self._queue = library().queue_new(client)
        super().__init__(client, kind, self._queue)

    def tell(self) -> None:
        """Log what has been said; does not wait."""
        while event := self._library.queue_poll(self._queue, 0):
            try:
                self.take(event)
            finally:
                self._library.event_destroy(event)

    def close(self) -> None:
        """Log what is left, before the client goes."""
        self.tell()
        self._library.queue_destroy(self._queue)
