"""Conversion of records on threads next to the task's loop."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Generic, TypeVar

from hearth.runtime.pipeline import Pipeline

A = TypeVar("A")
R = TypeVar("R")

QUICK_SECONDS = 0.05
"""How many seconds the loop may spend on converting. What takes longer runs on another thread."""
HANDED_SECONDS = 0.001
"""How many seconds the loop may wait for stages: about what handing the work to a thread costs."""
FEW = 1_000
"""Smaller batches take hardly less time than this many records."""
THREAD_NAME = "conversion"
MOST_WAITING = 1
"""How many batches may wait in addition to those being converted."""


class Conversion(Generic[R]):
    """Converts batches of records in two steps, in the order they came.

    A batch that is quick to convert, judging by the two before it, is converted at once by the calling thread: two
    threads of one interpreter need a quarter more processor time. Slower ones go to a second thread, which starts with
    the first of them. Waits for stages, which use their own processors, always count as slow. Where stages can work on
    several batches at once each step has its own thread (``Pipeline.is_apart``). Used by the loop's thread; ``wake``
    is called on another thread when a batch is done.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        wake: Callable[[], None],
        executor: Executor | None = None,
        quick: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
        on_done: Callable[[int, float], None] = lambda count, seconds: None,
    ) -> None:
        """``quick`` is how many seconds of converting may hold up the loop; the default depends on who converts.

        ``on_done`` is called with the number of records of a batch, and the seconds that it took, where it is done.
        """
        self._wake, self._clock, self._on_done = wake, clock, on_done
        self._quick = quick if quick is not None else HANDED_SECONDS if pipeline.has_stages else QUICK_SECONDS
        steps = 2 if pipeline.is_apart else 1
        self._executors = [executor or ThreadPoolExecutor(1, THREAD_NAME) for _ in range(steps)]
        self._coming: deque[Future[R]] = deque()
        self._paces: tuple[float, ...] = ()
        """Seconds per record of the last two batches: the first ever includes the import of modules."""

    @property
    def is_busy(self) -> bool:
        """Return whether a batch is in progress."""
        return bool(self._coming)

    @property
    def is_full(self) -> bool:
        """Return whether no further batch should be added for now."""
        return len(self._coming) >= len(self._executors) + MOST_WAITING

    @property
    def quick_rows(self) -> int:
        """Return how many records the loop could convert itself without being held up for too long."""
        pace = max(self._paces, default=math.inf)
        return int(QUICK_SECONDS / pace) if pace else sys.maxsize

    def begin(self, count: int, first: Callable[[], A], then: Callable[[A], R]) -> None:
        """Convert a batch of ``count`` records: apply ``then`` to the result of ``first``."""

        def start() -> tuple[A, float]:
            began = self._clock()
            return first(), self._clock() - began

        def end(made: A, seconds: float) -> R:
            began = self._clock()
            done = then(made)
            seconds += self._clock() - began
            self._paces = (*self._paces[-1:], seconds / max(count, FEW))
            self._on_done(count, seconds)
            return done

        def convert() -> R:
            return end(*start())

        is_quick = count * min(self._paces, default=0.0) < self._quick
        if is_quick and not self._coming:
            self._coming.append(_now(convert))
        elif len(self._executors) == 1:
            self._coming.append(self._submit(0, convert))
        else:
            begun = self._submit(0, start)
            self._coming.append(self._submit(1, lambda: end(*begun.result())))

    def _submit(self, step: int, work: Callable[[], A]) -> Future[A]:
        """Run work on the step's thread, or here where the process may have no more threads."""
        try:
            # keep the task's label in its log lines
            done = self._executors[step].submit(copy_context().run, work)
        except RuntimeError:
            self._executors[step].shutdown(wait=False, cancel_futures=True)  # else it runs this once it gets a thread
            self._executors[step] = ThreadPoolExecutor(1, THREAD_NAME)
            return _now(work)
        if step == len(self._executors) - 1:
            done.add_done_callback(lambda _: self._wake())
        return done

    @property
    def is_next_done(self) -> bool:
        """Return whether the earliest batch is converted."""
        return bool(self._coming) and self._coming[0].done()

    def take(self) -> R:
        """Return the result of the earliest batch; raise what converting it raised."""
        return self._coming.popleft().result()

    def close(self) -> None:
        """Wait for the running conversions, discard their results, and end the threads."""
        for executor in self._executors:
            executor.shutdown(cancel_futures=True)


def _now(work: Callable[[], A]) -> Future[A]:
    done: Future[A] = Future()
    try:
        done.set_result(work())
    except Exception as error:  # raised by ``take``
        done.set_exception(error)
    return done
