"""The metrics of one task: totals of its run, and windows over what it reported."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields

from hearth.link.task_counts import ASSIGNED, CHANGES, COMMITTED, FAILED, PEAKS, TaskCounts
from hearth.metric.sample_window import SampleWindows, WindowedStat

COUNTS = frozenset(each.name for each in fields(TaskCounts))

_OF_CLIENTS = ("requests", "responses", "bytes_sent", "bytes_received", "connects")
_RATES = ("polled", "acknowledged", "read", "accepted", "commits", "commits_passed", *_OF_CLIENTS)
"""Counts whose growth per second is measured."""
_TIMES = {
    "poll": ("poll_seconds", "polls", "poll_longest", ""),
    "put": ("put_seconds", "puts", "put_longest", ""),
    "commit": ("commit_seconds", "commits", "commit_longest", ""),
    "batch": ("batch_records", "batches", "batch_largest", ""),
    "active": ("active_sum", "active_changes", "active_most", ""),
    "transaction": ("transaction_records", "transactions", "transaction_largest", "transaction_smallest"),
}
"""Values of events: the counts with their sum, their number, the greatest and the least."""
RUNNING, PAUSED = "RUNNING", "PAUSED"


class TaskMetrics:
    """What is known of a task from its first launch until it is stopped. Thread-safe.

    Totals are those of the present run, so they start at 0 with each; windows and shares of time go on.
    """

    def __init__(self, windows: SampleWindows, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[str, float] = {}
        self._failed: dict[tuple[str, str], float] = {}
        self._committed: dict[tuple[str, int], int] = {}
        self._assigned: dict[str, int] = {}
        self._stats = {name: WindowedStat(windows) for name in (*_RATES, *_TIMES, "attempt")}
        self._state = ""
        self._since = self._began = clock()
        self._seconds: dict[str, float] = {}

    def begin_run(self) -> None:
        """Start anew with a run of the task, which counts from 0."""
        with self._lock:
            self._counts, self._failed, self._assigned = {}, {}, {}

    def enter(self, state: str) -> None:
        """Note the state of the task."""
        with self._lock:
            now = self._clock()
            if not self._state:
                self._began = now
            self._seconds[self._state] = self._seconds.get(self._state, 0.0) + now - self._since
            self._state, self._since = state, now

    def take(self, changes: CHANGES) -> None:
        """Add a report of the present run: the counts that changed."""
        with self._lock:
            now = self._clock()
            grown = {
                name: value if name in PEAKS else value - self._counts.get(name, 0)
                for name, value in changes.items()
                if name in COUNTS
            }
            self._counts.update((name, changes[name]) for name in grown)
            self._take_named(changes)
            for name in _RATES:
                if grown.get(name):
                    self._stats[name].record(now, grown[name])
            for name, (total, count, most, least) in _TIMES.items():
                if number := grown.get(count):
                    self._stats[name].record(now, grown.get(total, 0), number, grown.get(most, 0), grown.get(least, 0))
            if attempts := grown.get("commits", 0) + grown.get("commits_failed", 0):
                self._stats["attempt"].record(now, grown.get("commits", 0), attempts)

    def _take_named(self, changes: CHANGES) -> None:
        for name, value in changes.items():
            if name.startswith(FAILED):
                phase, _, class_name = name.removeprefix(FAILED).partition("/")
                self._failed[phase, class_name] = value
            elif name.startswith(COMMITTED):
                topic, _, number = name.removeprefix(COMMITTED).rpartition("/")
                self._committed[topic, int(number)] = int(value)
            elif name.startswith(ASSIGNED):
                self._assigned[name.removeprefix(ASSIGNED)] = int(value)

    @property
    def state(self) -> str:
        """Return the present state, empty before the first."""
        return self._state

    def failures(self) -> dict[tuple[str, str], float]:
        """Return how many records of the present run failed, by phase and class of the error."""
        with self._lock:
            return dict(self._failed)

    def committed(self) -> dict[tuple[str, int], int]:
        """Return the offset that a sink has committed, for each topic and partition that it owns or owned last."""
        with self._lock:
            return dict(self._committed)

    def assigned(self) -> dict[str, int]:
        """Return how many partitions of each topic the present run of a sink owns."""
        with self._lock:
            return {topic: count for topic, count in self._assigned.items() if count}

    def count(self, name: str) -> float:
        """Return a count of the present run."""
        return self._counts.get(name, 0)

    def rate(self, name: str) -> float:
        """Return how many per second were counted."""
        with self._lock:
            return self._stats[name].rate(self._clock())

    def average(self, name: str, factor: float = 1.0) -> float:
        """Return the average of a value, NaN if there was none."""
        with self._lock:
            return factor * self._stats[name].average(self._clock())

    def most(self, name: str, factor: float = 1.0) -> float:
        """Return the greatest of a value, NaN if there was none."""
        with self._lock:
            return factor * self._stats[name].most(self._clock())

    def least(self, name: str) -> float:
        """Return the least of a value, NaN if there was none."""
        with self._lock:
            return self._stats[name].least(self._clock())

    def commit_share(self, *, is_success: bool) -> float:
        """Return the share of commits that succeeded, or failed.

        A task commits nothing while there is nothing new to commit. Kafka Connect counts that as a success, so
        dashboards show 1 for an idle task; here as well.
        """
        with self._lock:
            share = self._stats["attempt"].share(self._clock())
        if share is None:
            return float(is_success and self._state in (RUNNING, PAUSED))
        return share if is_success else 1.0 - share

    def time_share(self, state: str) -> float:
        """Return the share of the time since the first state that the task was in this one."""
        with self._lock:
            now = self._clock()
            seconds = self._seconds.get(state, 0.0) + (now - self._since if self._state == state else 0.0)
            return seconds / (now - self._began) if now > self._began else 0.0

    def times(self) -> Iterator[tuple[str, float]]:
        """Yield when the task last polled, delivered and committed, in seconds since the epoch, NaN if never."""
        for phase in ("polled", "delivered", "committed"):
            yield phase, self.count(f"{phase}_ms") / 1000 or math.nan
