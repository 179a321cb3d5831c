"""Whether a task may have stood still for so long that another run of it has begun."""

from __future__ import annotations

import time
from collections.abc import Callable

from hearth.link.heartbeat import HEARTBEAT_SECONDS

MOST_SECONDS = 1.5 * HEARTBEAT_SECONDS
"""So long nobody may have looked at the clock before the process is taken for one that stood still.

No host is given up much sooner: brokers allow no ``session.timeout.ms`` below six seconds unless they are told to.
"""


class PauseDetector:
    """Notices that its process stood still, or that its host was silent, and keeps that in mind until somebody asked.

    A process that was stopped, with its machine or alone, goes on as if nothing had happened, and others do its work
    by then. So the link looks at the clock whenever the host says something, which it does every few seconds, and the
    loop before it gives away a record.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_at = clock()
        self.is_open = False
        """Whether nobody was asked since whether this run is still the one that counts."""

    def look(self) -> bool:
        """Look at the clock, and return whether somebody is to be asked; on any thread."""
        now = self._clock()
        self.is_open = self.is_open or now - self._looked_at > MOST_SECONDS
        self._looked_at = now
        return self.is_open

    def end(self) -> None:
        """Note that this run still counts."""
        self.is_open = False
