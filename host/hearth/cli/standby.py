"""A host of a cluster that does not lead keeps a Spark ready for the moment when it does."""

from __future__ import annotations

import threading
from collections.abc import Callable

LOOK_SECONDS = 5.0
"""How often a host that does not lead looks whether another has begun to, and how long that has to be so."""


class Standby:
    """Has a Spark started that takes nothing of its cluster yet, for the term that follows the present one.

    An application says by a number behind which leader it comes (see `Term`), so there has to be another when another
    host leads. Nobody hurries: what is new is left alone for a moment, in which who leads needs the processors.
    """

    def __init__(self, leads: Callable[[], bool], present: Callable[[], int], begin: Callable[[int], bool]) -> None:
        """``present`` returns the number of who leads; ``begin`` is told it, and returns whether it has begun."""
        self._leads, self._present, self._begin = leads, present, begin
        self._closed = threading.Event()
        self._seen: int | None = None
        self._begun: int | None = None
        self._thread = threading.Thread(target=self._work, name="standby", daemon=True)

    def start(self) -> None:
        """Look from now on."""
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._closed.set()

    def _work(self) -> None:
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
