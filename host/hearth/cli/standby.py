"""A host of a cluster that does not lead keeps a Spark ready for the moment when it does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

WARM_SECONDS, PAUSE_SECONDS = 30.0, 0.25
"""How long a host that starts leaves it to others to lead, at most, and how often it looks."""
LOOK_SECONDS = 10.0
"""How often a host that does not lead looks whether another has begun to, and how long that has to be so."""


def wait_until_warm(
    is_warm: Callable[[], bool], is_led: Callable[[], bool], pause: Callable[[float], None] = time.sleep
) -> None:
    """Wait until this host could lead at once, as long as another does: who is a member may be chosen any moment.

    Hosts that are restarted one after the other would hand the lead to the one that has just begun to start its Spark.
    """
    left = WARM_SECONDS
    while left > 0 and not is_warm() and is_led():
        pause(PAUSE_SECONDS)
        left -= PAUSE_SECONDS


class Standby:
    """Has a Spark started that takes nothing of its cluster yet, for the term that follows the present one.

    An application says by a number behind which leader it comes (see `Term`), so there has to be another when another
    host leads. Nobody hurries then: what is new is left alone for a moment, in which who leads needs the processors.
    """

    def __init__(self, leads: Callable[[], bool], present: Callable[[], int], begin: Callable[[int], bool]) -> None:
        """``present`` returns the number of who leads; ``begin`` is told it, and returns whether it has begun."""
        self._leads, self._present, self._begin = leads, present, begin
        self._closed = threading.Event()
        self._seen: int | None = present()
        self._begun: int | None = None
        self._thread = threading.Thread(target=self._work, name="standby", daemon=True)

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._closed.set()

    def _work(self) -> None:
        self.look()
        while not self._closed.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """Look once."""
        if self._leads():
            self._seen = self._begun = None
            return
        present = self._present()
        if present == self._seen != self._begun and self._begin(present):
            self._begun = present
        self._seen = present
