"""A standby Spark application for a host that does not lead yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

WARM_SECONDS, PAUSE_SECONDS = 30.0, 0.25
"""How long a starting host lets others lead at most, and how often it checks."""
LOOK_SECONDS = 10.0
"""How often a host that does not lead checks for a new leader, and how long that leader must have led."""


def wait_until_warm(
    is_warm: Callable[[], bool], is_led: Callable[[], bool], pause: Callable[[float], None] = time.sleep
) -> None:
    """Wait until this host could lead at once, as long as another host leads: any member may be elected at any time.

    In a rolling restart the lead would otherwise pass to the host that has just started its Spark.
    """
    left = WARM_SECONDS
    while left > 0 and not is_warm() and is_led():
        pause(PAUSE_SECONDS)
        left -= PAUSE_SECONDS


class Standby:
    """Starts a Spark application without executors for the term after the present one.

    An application carries the number of the leader it follows (see `Term`), so each new leader needs a new standby.
    The start is delayed until a leader has led for a while, because the new leader needs the processors first.
    """

    def __init__(self, leads: Callable[[], bool], present: Callable[[], int], begin: Callable[[int], bool]) -> None:
        """``present`` returns the leader's number; ``begin`` takes it and returns whether a standby was started."""
        self._leads, self._present, self._begin = leads, present, begin
        self._closed = threading.Event()
        self._seen: int | None = present()
        self._begun: int | None = None
        self._thread = threading.Thread(target=self._work, name="standby", daemon=True)

    def start(self) -> None:
        """Start checking."""
        self._thread.start()

    def close(self) -> None:
        """Stop checking."""
        self._closed.set()

    def _work(self) -> None:
        self.look()
        while not self._closed.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """Check once, and start a standby if the same leader was seen before and has none yet."""
        if self._leads():
            self._seen = self._begun = None
            return
        present = self._present()
        if present == self._seen != self._begun and self._begin(present):
            self._begun = present
        self._seen = present
