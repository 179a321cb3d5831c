"""Threads that keep the order of what happens to one connector and let connectors go on beside each other."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class Lanes:
    """Runs jobs: those of one lane one after the other, those of different lanes at the same time.

    Every connector has a lane, so what users and plugins ask for takes place in the order it was asked, and a
    plugin that hangs holds up nobody but its own connector. A lane has a thread of its own, and only while it has
    something to do: there are never more of them than connectors and questions that are being dealt with.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False
        self._waiting: dict[str, deque[tuple[Callable[[], Any], Future[Any]]]] = {}
        self._asked: set[tuple[str, str]] = set()

    def submit(self, lane: str, job: Callable[[], T]) -> Future[T]:
        """Run a job after everything that was submitted to its lane before."""
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                future.cancel()
                return future
            queue = self._waiting.get(lane)
            if queue is not None:
                queue.append((job, future))
                return future
            self._waiting[lane] = deque([(job, future)])
        self._begin(lane)
        return future

    def post(self, lane: str, job: Callable[[], Any]) -> None:
        """Run a job nobody waits for; what it raises is logged."""
        self.submit(lane, job).add_done_callback(lambda future: _log_failure(lane, future))

    def post_once(self, lane: str, what: str, job: Callable[[], Any]) -> None:
        """Post a job unless the same still waits on its lane: a plugin may ask without end."""
        with self._lock:
            if (lane, what) in self._asked:
                return
            self._asked.add((lane, what))
        self.post(lane, lambda: self._do_asked(lane, what, job))

    def close(self) -> None:
        """Take no more jobs; what has begun may finish, what waits is cancelled."""
        with self._lock:
            self._is_closed = True
            for queue in self._waiting.values():
                for _, future in queue:
                    future.cancel()

    def _do_asked(self, lane: str, what: str, job: Callable[[], Any]) -> None:
        with self._lock:  # before it is done: what is asked from now on may find what this has not seen
            self._asked.discard((lane, what))
        job()

    def _begin(self, lane: str) -> None:
        try:
            # A plugin that hangs is not to keep the host from ending, so nobody waits for these threads.
            threading.Thread(target=self._work, args=[lane], name=f"herder {lane}", daemon=True).start()
        except RuntimeError as error:  # the machine has no thread left
            with self._lock:
                queue = self._waiting.pop(lane)
            for _, future in queue:
                future.set_exception(error)

    def _work(self, lane: str) -> None:
        while True:
            with self._lock:
                queue = self._waiting[lane]
                if not queue:
                    del self._waiting[lane]
                    return
                job, future = queue.popleft()
            if future.set_running_or_notify_cancel():
                _run(job, future)


def _run(job: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(job())
    except BaseException as error:  # noqa: BLE001 - whoever waits for the future hears of it
        future.set_exception(error)


def _log_failure(lane: str, future: Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        log.error("%s: %s", lane, error, exc_info=error)
