"""The metrics of the worker: how starts went, and changes of the leader."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hearth.metric.client_sensor import WorkerClient
from hearth.metric.run_history import RunHistories
from hearth.metric.sample_window import SampleWindows, WindowedStat
from hearth.metric.task_metric import TaskMetrics

WATCHED_SECONDS = 150.0
"""After a scrape, tasks ask their plugins for metrics for this long: scrapers come every minute at least."""


class StartCounts:
    """How often something was started, and how often that succeeded. Thread-safe."""

    def __init__(self, windows: SampleWindows, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._stat = WindowedStat(windows)
        self.succeeded = self.failed = 0

    @property
    def attempts(self) -> int:
        """Return how many starts have ended."""
        return self.succeeded + self.failed

    def ended(self, *, is_success: bool) -> None:
        """Count the end of a start."""
        with self._lock:
            self._stat.record(self._clock(), is_success)
            if is_success:
                self.succeeded += 1
            else:
                self.failed += 1

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count a start, which fails if it raises."""
        try:
            yield
        except BaseException:
            self.ended(is_success=False)
            raise
        self.ended(is_success=True)

    def share(self, *, is_success: bool) -> float:
        """Return the share that succeeded, or failed, of the last time; 0 if nothing was started."""
        with self._lock:
            share = self._stat.share(self._clock())
        return 0.0 if share is None else share if is_success else 1.0 - share


class LeaderChanges:
    """The changes of a cluster's leader that this host took part in, Kafka Connect's rebalances. Thread-safe."""

    def __init__(self, windows: SampleWindows, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._stat = WindowedStat(windows)
        self._ended: float | None = None
        self.term = 0
        self.completed = 0
        self.is_under_way = False

    @contextmanager
    def under_way(self, term: int | None = None) -> Iterator[None]:
        """Measure a change, to the given term if this host leads from then on."""
        began, self.is_under_way = self._clock(), True
        try:
            yield
        finally:
            with self._lock:
                now = self._ended = self._clock()
                self._stat.record(now, now - began, 1, now - began)
                self.completed += 1
                self.is_under_way = False
                self.term = self.term if term is None else term

    @property
    def seconds_since(self) -> float:
        """Return how long ago the last change ended; infinite if there was none."""
        return math.inf if self._ended is None else self._clock() - self._ended

    def average(self) -> float:
        """Return how many seconds a change took, of those of the last time; NaN if there was none."""
        with self._lock:
            return self._stat.average(self._clock())

    def longest(self) -> float:
        """Return how many seconds the longest change of the last time took; NaN if there was none."""
        with self._lock:
            return self._stat.most(self._clock())


class WorkerMetrics:
    """What a worker counts besides its tasks; ``windows`` holds for these as well."""

    def __init__(self, windows: SampleWindows | None = None) -> None:
        self.windows = windows or SampleWindows()
        self.connector_starts = StartCounts(self.windows)
        self.task_starts = StartCounts(self.windows)
        self.leader_changes = LeaderChanges(self.windows)
        self.histories = RunHistories()
        self._watched_at = -math.inf
        self.leader: Callable[[], str | None] | None = None
        """Returns the URL of the cluster's leader, without waiting; None where there is no cluster."""
        self.clients: dict[str, WorkerClient] = {}
        """The clients with which hosts elect their leader, by domain."""

    def watch(self) -> None:
        """Note that somebody reads the metrics."""
        self._watched_at = time.monotonic()

    def is_watched(self) -> bool:
        """Return whether somebody has read the metrics in the last minutes."""
        return time.monotonic() - self._watched_at < WATCHED_SECONDS

    def client(self, *, logs_in: bool) -> WorkerClient:
        """Return new metrics of a client of the worker."""
        return WorkerClient(self.task(), logs_in=logs_in)

    def task(self) -> TaskMetrics:
        """Return new metrics of a task."""
        return TaskMetrics(self.windows)
