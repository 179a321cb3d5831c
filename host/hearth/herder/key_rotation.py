"""Rotates the session key with which hosts sign their internal requests."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from hearth.herder.task_restart import RestartTimer, run_later
from hearth_api import ConnectError

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""Delay before a failed rotation is retried."""


class KeyRotation:
    """Writes a new session key at a fixed interval during a term, which itself starts with a new key; 0 disables it.

    As in Kafka Connect, the previous key is no longer accepted: a request signed with it is rejected and sent again.
    """

    def __init__(
        self,
        seconds: float,
        write: Callable[[], None],
        later: Callable[[float, Callable[[], None]], RestartTimer] = run_later,
    ) -> None:
        """``write`` writes a new key; it raises ConnectError if writing fails or this host no longer leads."""
        self._seconds, self._write, self._later = seconds, write, later
        self._lock = threading.Lock()
        self._term = 0
        self._timer: RestartTimer | None = None

    def begin(self) -> None:
        """Start the interval: this host leads and has just written a key."""
        with self._lock:
            self._term += 1
            self._wait(self._term, self._seconds)

    def end(self) -> None:
        """Stop writing keys."""
        with self._lock:
            self._term += 1
            self._cancel()

    def _wait(self, term: int, seconds: float) -> None:
        self._cancel()
        if self._seconds > 0:
            self._timer = self._later(seconds, lambda: self._rotate(term))

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rotate(self, term: int) -> None:
        if term != self._term:
            return
        seconds = self._seconds
        try:
            self._write()
        except ConnectError as error:
            log.info("the session key is not rotated yet: %s", error)
            seconds = min(RETRY_SECONDS, self._seconds)
        with self._lock:
            if term == self._term:
                self._wait(term, seconds)
