"""Queues that keep the order of what happens to one connector and let connectors go on beside each other."""

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
"""How long whoever ends an instance waits for its plugin first: what Java's ``Worker`` gives a connector to stop."""

_mine = threading.local()


class Interrupted(PluginError):
    """A plugin took too long while somebody waited who was to end what it does."""

    code = "plugin.interrupted"


class Queues:
    """Runs jobs: those of one queue one after the other, those of different queues at the same time.

    Every connector has a queue under its name, so what users and plugins ask for takes place in the order it was
    asked, and a plugin that hangs holds up nobody but its own connector. A job that is to end what runs is impatient:
    each job before it in its queue has ``interrupt_after`` seconds, then the plugin that it waits for is interrupted.
    A queue has a thread of its own, and only while it has something to do: there are never more of them than
    connectors and questions that are being dealt with.
    """

    def __init__(self, interrupt_after: float = INTERRUPT_SECONDS) -> None:
        self._interrupt_after = interrupt_after
        self._lock = threading.Lock()
        self._is_closed = False
        self._waiting: dict[Hashable, deque[_Job[Any]]] = {}
        self._running: dict[Hashable, _Job[Any]] = {}
        self._asked: set[tuple[Hashable, str]] = set()

    def submit(self, queue: Hashable, job: Callable[[], T], *, is_impatient: bool = False) -> Future[T]:
        """Run a job after everything that was submitted to its queue before."""
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
        """Run a job nobody waits for; what it raises is logged."""
        future = self.submit(queue, job, is_impatient=is_impatient)
        future.add_done_callback(lambda done: _log_failure(queue, done))

    def post_once(self, queue: Hashable, what: str, job: Callable[[], Any], *, is_impatient: bool = False) -> None:
        """Post a job unless the same still waits in its queue: a plugin may ask without end."""
        with self._lock:
            if (queue, what) in self._asked:
                return
            self._asked.add((queue, what))
        self.post(queue, lambda: self._do_asked(queue, what, job), is_impatient=is_impatient)

    def close(self) -> None:
        """Take no more jobs; what has begun may finish, what waits is cancelled."""
        with self._lock:
            self._is_closed = True
            for waiting in self._waiting.values():
                for job in waiting:
                    job.future.cancel()

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
        """Interrupt what a queue does in a while, where somebody impatient waits behind it."""
        running = self._running.get(queue)
        if running is not None and any(job.is_impatient for job in self._waiting[queue]):
            running.hurry(self._interrupt_after)


class _Job(Generic[T]):
    """A job of a queue, and what it waits for at the moment."""

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
        """Do it, unless nobody wants it any more."""
        if not self.future.set_running_or_notify_cancel():
            return
        _mine.job = self
        try:
            fulfil(self.future, self._act)
        finally:
            _mine.job = None
            if self._timer is not None:
                self._timer.cancel()

    def hurry(self, seconds: float) -> None:
        """Interrupt it unless it is done by then; called under the lock of the queues."""
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._interrupt)
            self._timer.daemon = True
            with contextlib.suppress(RuntimeError):  # the machine has no thread left
                self._timer.start()

    @property
    def is_interrupted(self) -> bool:
        """Return whether somebody impatient has ended what it waited for."""
        return self._is_interrupted

    @contextlib.contextmanager
    def waiting(self, end: Callable[[], None]) -> Iterator[None]:
        """Let it be interrupted during the block; raises Interrupted where it has been, before or meanwhile."""
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
                raise Interrupted("somebody has waited for too long already who is to end or replace what runs")

    def _interrupt(self) -> None:
        with self._lock:
            self._is_interrupted = True
            end = self._end
        if end is not None:
            log.warning("%s keeps others waiting, the plugin that it waits for is interrupted", self._queue)
            end()


@contextlib.contextmanager
def interruptible(end: Callable[[], None]) -> Iterator[None]:
    """Let ``end`` end what this block waits for when somebody impatient waits behind the job of this thread.

    A job that was interrupted does not begin to wait again: that raises Interrupted.
    """
    job: _Job[Any] | None = getattr(_mine, "job", None)
    with contextlib.nullcontext() if job is None else job.waiting(end):
        yield


def is_interrupted() -> bool:
    """Return whether the job of this thread was interrupted, so that nothing is to be tried again."""
    job: _Job[Any] | None = getattr(_mine, "job", None)
    return job is not None and job.is_interrupted


def done(result: T) -> Future[T]:
    """Return a future that is done."""
    future: Future[T] = Future()
    future.set_result(result)
    return future


def then(first: Future[S], follow: Callable[[S], Future[T]]) -> Future[T]:
    """Return what comes of the future that follows the first, or of the first where that has no result."""
    last: Future[T] = Future()

    def go_on(done: Future[S]) -> None:
        if not done.cancelled() and done.exception() is None:
            follow(done.result()).add_done_callback(lambda each: _settle(last, each))
        else:
            _settle(last, done)

    first.add_done_callback(go_on)
    return last


def _settle(last: Future[Any], done: Future[Any]) -> None:
    """Give a future the outcome of another."""
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
