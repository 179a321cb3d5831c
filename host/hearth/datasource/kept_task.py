"""Tasks of sinks that an executor's Python worker keeps between the micro-batches of a query.

A stage takes a fifth of a second to start, and a query has a batch every few hundred milliseconds. Spark does not
notify a worker of a query's end, so a task that is unused for a while is stopped.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

log = logging.getLogger(__name__)

REUSED = "SPARK_REUSE_WORKER"
"""The environment variable that Spark sets for workers that it will reuse."""


class Closable(Protocol):
    """An object that can be kept."""

    @property
    def is_alive(self) -> bool:
        """Return whether it is still usable."""

    def close(self) -> None:
        """Close it."""


T = TypeVar("T", bound=Closable)


class KeptTasks(Generic[T]):
    """Keeps used objects by key until they expire.

    One thread uses this; another closes expired objects, and ends when none are left.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[Hashable, tuple[T, float]] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def using(self, key: Hashable, begin: Callable[[], T], seconds: float) -> Iterator[T]:
        """Provide the object of a key, created by ``begin`` if missing; keep it for ``seconds``; close it on error."""
        with self._changed:
            task, _ = self._kept.pop(key, (None, 0.0))
        if task is not None and not task.is_alive:
            _close(task)
            task = None
        task = task or begin()
        try:
            yield task
        except BaseException:
            _close(task)
            raise
        if seconds <= 0:
            task.close()
        else:
            self._keep(key, task, seconds)

    def end(self) -> None:
        """Close everything that is kept."""
        with self._changed:
            kept, self._kept = self._kept, {}
            self._changed.notify_all()
        for task, _ in kept.values():
            _close(task)

    def _keep(self, key: Hashable, task: T, seconds: float) -> None:
        with self._changed:
            self._kept[key] = task, self._clock() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="kept-tasks", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _watch(self) -> None:
        while True:
            with self._changed:
                if not self._kept:
                    self._thread = None
                    return
                left = min(due for _, due in self._kept.values()) - self._clock()
                if left > 0:
                    self._changed.wait(left)
                    continue
                due = [key for key, (_, end) in self._kept.items() if end <= self._clock()]
                ended = [self._kept.pop(key)[0] for key in due]
            for task in ended:
                _close(task)


def is_worker_kept() -> bool:
    """Return whether Spark will reuse this worker after the present partition."""
    return bool(os.environ.get(REUSED))


def _close(task: Closable) -> None:
    """Close a task whose rows are all written, or will be written again."""
    try:
        task.close()
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything; its processes have ended
        log.warning("a sink's task did not stop cleanly: %s", error)
