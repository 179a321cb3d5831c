"""Detects that a task was suspended for so long that another run of it may have started."""

from __future__ import annotations

import time
from collections.abc import Callable

from hearth.link.heartbeat import HEARTBEAT_SECONDS

MOST_SECONDS = 1.5 * HEARTBEAT_SECONDS
"""Longest gap in seconds between two looks at the clock before the process counts as suspended.

No host is declared dead much sooner: brokers allow no ``session.timeout.ms`` below six seconds by default.
"""


class PauseDetector:
    """Detects that its process was suspended or its host silent, and remembers it until ``end``.

    A process that was suspended, alone or with its machine, continues as if nothing had happened, while others may
    have taken over its work. So the link looks at the clock whenever the host sends something, which it does every few
    seconds, and the loop does before it delivers a record.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at = clock()
        self.is_open = False
        """Whether it is unconfirmed that this run is still current."""

    def look(self) -> bool:
        """Look at the clock; return whether the run must be confirmed. May be called from any thread."""
        now = self._clock()
        self.is_open = self.is_open or now - self._looked_at > MOST_SECONDS
        self._looked_at = now
        return self.is_open

    def end(self) -> None:
        """Note that this run is confirmed."""
        self.is_open = False
