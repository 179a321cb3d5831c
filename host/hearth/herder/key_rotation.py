"""The key by which hosts sign what they ask of each other: the one that leads writes another from time to time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from hearth.herder.task_restart import RestartTimer, ring_later
from hearth_api import ConnectError

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""How long after an attempt that the brokers did not take the next is made."""


class KeyRotation:
    """Writes a new key after every so many seconds of a term, which itself begins with one; never where it is 0.

    As in Kafka Connect nobody takes the key of before any more: who signed with it is refused, and asks again.
    """

    def __init__(
        self,
        seconds: float,
        write: Callable[[], None],
        later: Callable[[float, Callable[[], None]], RestartTimer] = ring_later,
    ) -> None:
        """``write`` writes a new key; it raises ConnectError where it could not, or this host leads no more."""
        self._seconds, self._write, self._later = seconds, write, later
        self._lock = threading.Lock()
        self._term = 0
        self._alarm: RestartTimer | None = None

    def begin(self) -> None:
        """Count from now on: this host leads, and has just written a key."""
        with self._lock:
            self._term += 1
            self._wait(self._term, self._seconds)

    def end(self) -> None:
        """Write no more keys."""
        with self._lock:
            self._term += 1
            self._call_off()

    def _wait(self, term: int, seconds: float) -> None:
        self._call_off()
        if self._seconds > 0:
            self._alarm = self._later(seconds, lambda: self._rotate(term))

    def _call_off(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _rotate(self, term: int) -> None:
        if term != self._term:
            return
        seconds = self._seconds
        try:
            self._write()
        except ConnectError as error:
            log.info("the key by which hosts sign is not exchanged yet: %s", error)
            seconds = min(RETRY_SECONDS, self._seconds)
        with self._lock:
            if term == self._term:
                self._wait(term, seconds)
