"""Checks whether the herder responds (KIP-1017)."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from hearth.herder.queue import Queues


class HealthCheck:
    """Exercises every part of the herder that requests depend on, and names the step in which a check hangs.

    Each step finishes at once unless its thread is dead, a lock is held permanently, the machine has no thread left,
    or the host is no member of its cluster, as while Kafka is away. A plugin that hangs blocks only its own connector,
    so it is not checked.
    """

    def __init__(self, queues: Queues, steps: Mapping[str, Callable[[], object]], name: str = "health") -> None:
        """``steps`` are the checks, keyed by the worker activity to report, such as "reading statuses".

        Checks with different names do not wait for each other.
        """
        self._queues = queues
        self._name = name
        self._steps = dict(steps)
        self._lock = threading.Lock()
        self._turn: Future[None] | None = None
        self._place: tuple[str, dt.datetime] | None = None

    def begin_with(self, doing: str, step: Callable[[], object]) -> None:
        """Take another step before all others."""
        self._steps = {doing: step, **self._steps}

    def take(self) -> Future[None]:
        """Return a future that completes when the herder responds; concurrent callers share one check."""
        with self._lock:
            if self._turn is None or self._turn.done():
                self._turn = self._queues.submit((self._name,), self._take)
            return self._turn

    def summarize(self) -> str | None:
        """Return the current step in Kafka Connect's words, or None if no check has started."""
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
