"""Queues that run each connector's jobs in order and different connectors' jobs in parallel."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from hearth.foundation.future import fulfil
from hearth.foundation.log_context import about, label_of
from hearth_api import PluginError

log = logging.getLogger(__name__)

S = TypeVar("S")
T = TypeVar("T")

INTERRUPT_SECONDS = 5.0
"""Time that an impatient job gives a plugin to return: what Java's ``Worker`` gives a connector to stop."""

_current = threading.local()


class Interrupted(PluginError):
    """A plugin took too long while a job that stops or replaces it was waiting."""

    code = "plugin.interrupted"


class Queues:
    """Runs the jobs of one queue in sequence and those of different queues in parallel.

    Every connector has a queue under its name, so requests of users and plugins are carried out in order, and a plugin
    that hangs blocks only its own connector. A job that stops what runs is impatient: each job ahead of it in its
    queue has ``interrupt_after`` seconds before the plugin it waits for is interrupted. A queue has a thread only
    while it has jobs, so there are never more threads than connectors and pending requests.
    """

    def __init__(self, interrupt_after: float = INTERRUPT_SECONDS) -> None:
        self._interrupt_after = interrupt_after
        self._lock = threading.Lock()
        self._is_closed = False
        self._waiting: dict[Hashable, deque[_Job[Any]]] = {}
        self._running: dict[Hashable, _Job[Any]] = {}
        self._asked: set[tuple[Hashable, str]] = set()

    def submit(self, queue: Hashable, job: Callable[[], T], *, is_impatient: bool = False) -> Future[T]:
        """Run a job after all earlier jobs of its queue."""
        added = _Job(queue, job, is_impatient)
        with self._lock:
            if self._is_closed:
                added.future.cancel()
                return added.future
            waiting = self._waiting.get(queue)
            if waiting is not None:
                waiting.append(added)
                self._hurry(queue)
                return added.future
            self._waiting[queue] = deque([added])
        self._begin(queue)
        return added.future

    def post(self, queue: Hashable, job: Callable[[], Any], *, is_impatient: bool = False) -> None:
        """Run a job without waiting for it; log its error."""
        future = self.submit(queue, job, is_impatient=is_impatient)
        future.add_done_callback(lambda done: _log_failure(queue, done))

    def post_once(self, queue: Hashable, what: str, job: Callable[[], Any], *, is_impatient: bool = False) -> None:
        """Post a job unless the same job is waiting in its queue: a plugin may request it without end."""
        with self._lock:
            if (queue, what) in self._asked:
                return
            self._asked.add((queue, what))
        self.post(queue, lambda: self._do_asked(queue, what, job), is_impatient=is_impatient)

    def close(self) -> None:
        """Accept no more jobs; running jobs may finish, waiting ones are cancelled."""
        with self._lock:
            self._is_closed = True
            for waiting in self._waiting.values():
                for job in waiting:
                    job.future.cancel()

    def _do_asked(self, queue: Hashable, what: str, job: Callable[[], Any]) -> None:
        with self._lock:  # discarded before the job runs, which may miss what a later request refers to
            self._asked.discard((queue, what))
        job()

    def _begin(self, queue: Hashable) -> None:
        try:
            # Daemon threads, because a plugin that hangs must not keep the host from exiting.
            threading.Thread(target=self._work, args=[queue], name=f"herder {queue}", daemon=True).start()
        except RuntimeError as error:  # the machine has no thread left
            with self._lock:
                waiting = self._waiting.pop(queue)
                self._asked = {asked for asked in self._asked if asked[0] != queue}
            for job in waiting:
                job.future.set_exception(error)

    def _work(self, queue: Hashable) -> None:
        while True:
            with self._lock:
                self._running.pop(queue, None)
                waiting = self._waiting[queue]
                if not waiting:
                    del self._waiting[queue]
                    return
                job = self._running[queue] = waiting.popleft()
                self._hurry(queue)
            with about(label_of(queue)) if isinstance(queue, str) else contextlib.nullcontext():
                job.run()

    def _hurry(self, queue: Hashable) -> None:
        """Interrupt the running job of a queue after a delay if an impatient job waits."""
        running = self._running.get(queue)
        if running is not None and any(job.is_impatient for job in self._waiting[queue]):
            running.hurry(self._interrupt_after)


class _Job(Generic[T]):
    """A job of a queue, and how to interrupt the call it waits for."""

    def __init__(self, queue: Hashable, act: Callable[[], T], is_impatient: bool) -> None:
        self.future: Future[T] = Future()
        self.is_impatient = is_impatient
        self._queue = queue
        self._act = act
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._end: Callable[[], None] | None = None
        self._is_interrupted = False

    def run(self) -> None:
        """Run the job unless its future was cancelled."""
        if not self.future.set_running_or_notify_cancel():
            return
        _current.job = self
        try:
            fulfil(self.future, self._act)
        finally:
            _current.job = None
            if self._timer is not None:
                self._timer.cancel()

    def hurry(self, seconds: float) -> None:
        """Interrupt the job unless it finishes within the delay; called under the lock of the queues."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._interrupt)
            self._timer.daemon = True
            with contextlib.suppress(RuntimeError):  # the machine has no thread left
                self._timer.start()

    @property
    def is_interrupted(self) -> bool:
        """Return whether an impatient job has interrupted this one."""
        return self._is_interrupted

    @contextlib.contextmanager
    def waiting(self, end: Callable[[], None]) -> Iterator[None]:
        """Make the job interruptible during the block; raise Interrupted if it was interrupted before or meanwhile."""
        self._wait_for(end)
        try:
            yield
        except BaseException:
            self._end = None
            raise
        self._wait_for(None)

    def _wait_for(self, end: Callable[[], None] | None) -> None:
        with self._lock:
            self._end = None if self._is_interrupted else end
            if self._is_interrupted:
                raise Interrupted("a request to stop or replace the connector has waited too long")

    def _interrupt(self) -> None:
        with self._lock:
            self._is_interrupted = True
            end = self._end
        if end is not None:
            log.warning("%s blocks other requests: interrupting its call of a plugin", self._queue)
            end()


@contextlib.contextmanager
def interruptible(end: Callable[[], None]) -> Iterator[None]:
    """Call ``end`` to interrupt this block when an impatient job waits for the job of this thread.

    An interrupted job does not wait again: entering the block raises Interrupted.
    """
    job: _Job[Any] | None = getattr(_current, "job", None)
    with contextlib.nullcontext() if job is None else job.waiting(end):
        yield


def is_interrupted() -> bool:
    """Return whether the job of this thread was interrupted and should not retry."""
    job: _Job[Any] | None = getattr(_current, "job", None)
    return job is not None and job.is_interrupted


def done(result: T) -> Future[T]:
    """Return a completed future with this result."""
    future: Future[T] = Future()
    future.set_result(result)
    return future


def then(first: Future[S], follow: Callable[[S], Future[T]]) -> Future[T]:
    """Return a future for the result of ``follow``, which runs after the first; an error of the first is passed on."""
    last: Future[T] = Future()

    def go_on(done: Future[S]) -> None:
        if not done.cancelled() and done.exception() is None:
            follow(done.result()).add_done_callback(lambda each: _settle(last, each))
        else:
            _settle(last, done)

    first.add_done_callback(go_on)
    return last


def _settle(last: Future[Any], done: Future[Any]) -> None:
    """Copy the outcome of one future to another."""
    if done.cancelled() or not last.set_running_or_notify_cancel():
        last.cancel()
    elif error := done.exception():
        last.set_exception(error)
    else:
        last.set_result(done.result())


def _log_failure(queue: Hashable, future: Future[Any]) -> None:
    error = None if future.cancelled() else future.exception()
    if error is not None:
        log.error("%s: %s", queue, error, exc_info=error)
