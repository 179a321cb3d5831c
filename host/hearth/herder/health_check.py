"""Whether the herder answers at all (KIP-1017)."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from hearth.herder.queue import Queues


class HealthCheck:
    """Takes a turn in everything that requests need of the herder, and says where a turn waits that does not end.

    Each of these answers at once, unless it is dead or locked for ever, or the machine has no thread left. A plugin
    that hangs is none of them: it holds up its own connector alone.
    """

    def __init__(self, queues: Queues, steps: Mapping[str, Callable[[], object]]) -> None:
        """``steps`` are what to do, by what the worker is doing then: "reading statuses"."""
        self._queues = queues
        self._steps = steps
        self._lock = threading.Lock()
        self._turn: Future[None] | None = None
        self._place: tuple[str, dt.datetime] | None = None

    def take(self) -> Future[None]:
        """Return what is done when the herder answered; who asks while another turn is under way waits for that."""
        with self._lock:
            if self._turn is None or self._turn.done():
                self._turn = self._queues.submit(("health",), self._take)
            return self._turn

    def summarize(self) -> str | None:
        """Say in Kafka Connect's words where the turn waits, None where it has not begun."""
        if self._place is None:
            return None
        doing, since = self._place
        began = since.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return f"The worker is currently {doing}, which began at {began}."

    def _take(self) -> None:
        try:
            for doing, step in self._steps.items():
                self._place = doing, dt.datetime.now(dt.timezone.utc)
                step()
        finally:
            self._place = None
