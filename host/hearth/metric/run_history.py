"""What became of the runs of a task: how many there were, and how the last ones ended."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

KEPT_ENDS = 10
SHOWN_LINES = 3
"""How many lines of a trace an end has."""


@dataclass(frozen=True)
class PastRun:
    """The end of a run: when (seconds since the epoch), how (``failed``, ``lost``, ``moved``), and in which words.

    ``seconds`` is how long the run lasted, from its launch.
    """

    at: float
    how: str
    words: str
    seconds: float = 0.0


class RunHistory:
    """The runs of one task since its configuration, over its restarts. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._ends: deque[PastRun] = deque(maxlen=KEPT_ENDS)
        self._runs = 0
        self.state = ""
        self.since = self._begun_at = clock()

    def renew(self) -> None:
        """Count anew, because the task has another configuration; its last ends are kept."""
        self._runs = 0

    def begin_run(self) -> None:
        """Count a run."""
        self._runs += 1
        self._begun_at = self._clock()

    def enter(self, state: str) -> None:
        """Note the state of the task."""
        if state != self.state:
            self.state, self.since = state, self._clock()

    def end(self, how: str, words: str | None) -> None:
        """Note the end of a run."""
        shown = "\n".join((words or "").splitlines()[:SHOWN_LINES])
        now = self._clock()
        with self._lock:
            self._ends.append(PastRun(now, how, shown, now - self._begun_at))

    @property
    def restarts(self) -> int:
        """Return how many runs followed the first."""
        return max(0, self._runs - 1)

    @property
    def ends(self) -> list[PastRun]:
        """Return the last ends, the newest first."""
        with self._lock:
            return list(self._ends)[::-1]


class RunHistories:
    """The histories of all tasks that this host has run since it leads. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, dict[int, RunHistory]] = {}

    def of(self, connector: str, task: int) -> RunHistory:
        """Return the history of a task."""
        with self._lock:
            return self._known.setdefault(connector, {}).setdefault(task, RunHistory())

    def renew(self, connector: str) -> None:
        """Count the runs of a connector's tasks anew."""
        with self._lock:
            for each in self._known.get(connector, {}).values():
                each.renew()

    def forget(self, connector: str) -> None:
        """Forget a connector, which was deleted."""
        with self._lock:
            self._known.pop(connector, None)
