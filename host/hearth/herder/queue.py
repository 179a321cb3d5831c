"""Queues that keep the order of what happens to one connector and let connectors go on beside each other."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

log = logging.getLogger(__name__)

T = TypeVar("T")


class Queues:
    """Runs jobs: those of one queue one after the other, those of different queues at the same time.

    Every connector has a queue under its name, so what users and plugins ask for takes place in the order it was
    asked, and a plugin that hangs holds up nobody but its own connector. A queue has a thread of its own, and only
    while it has something to do: there are never more of them than connectors and questions that are being dealt with.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False
        self._waiting: dict[Hashable, deque[tuple[Callable[[], Any], Future[Any]]]] = {}
        self._asked: set[tuple[Hashable, str]] = set()

    def submit(self, queue: Hashable, job: Callable[[], T]) -> Future[T]:
        """Run a job after everything that was submitted to its queue before."""
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                future.cancel()
                return future
            waiting = self._waiting.get(queue)
            if waiting is not None:
                waiting.append((job, future))
                return future
            self._waiting[queue] = deque([(job, future)])
        self._begin(queue)
        return future

    def post(self, queue: Hashable, job: Callable[[], Any]) -> None:
        """Run a job nobody waits for; what it raises is logged."""
        self.submit(queue, job).add_done_callback(lambda future: _log_failure(queue, future))

    def post_once(self, queue: Hashable, what: str, job: Callable[[], Any]) -> None:
        """Post a job unless the same still waits in its queue: a plugin may ask without end."""
        with self._lock:
            if (queue, what) in self._asked:
                return
            self._asked.add((queue, what))
        self.post(queue, lambda: self._do_asked(queue, what, job))

    def is_busy(self, queue: Hashable) -> bool:
        """Return whether a queue has something to do."""
        with self._lock:
            return queue in self._waiting

    def close(self) -> None:
        """Take no more jobs; what has begun may finish, what waits is cancelled."""
        with self._lock:
            self._is_closed = True
            for waiting in self._waiting.values():
                for _, future in waiting:
                    future.cancel()

    def _do_asked(self, queue: Hashable, what: str, job: Callable[[], Any]) -> None:
        with self._lock:  # before it is done: what is asked from now on may find what this has not seen
            self._asked.discard((queue, what))
        job()

    def _begin(self, queue: Hashable) -> None:
        try:
            # A plugin that hangs is not to keep the host from ending, so nobody waits for these threads.
            threading.Thread(target=self._work, args=[queue], name=f"herder {queue}", daemon=True).start()
        except RuntimeError as error:  # the machine has no thread left
            with self._lock:
                waiting = self._waiting.pop(queue)
                self._asked = {asked for asked in self._asked if asked[0] != queue}
            for _, future in waiting:
                future.set_exception(error)

    def _work(self, queue: Hashable) -> None:
        while True:
            with self._lock:
                waiting = self._waiting[queue]
                if not waiting:
                    del self._waiting[queue]
                    return
                job, future = waiting.popleft()
            if future.set_running_or_notify_cancel():
                _run(job, future)


def _run(job: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(job())
    except BaseException as error:  # noqa: BLE001 - whoever waits for the future hears of it
        future.set_exception(error)


def _log_failure(queue: Hashable, future: Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        log.error("%s: %s", queue, error, exc_info=error)
