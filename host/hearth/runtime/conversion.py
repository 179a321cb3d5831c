"""Conversion of records beside the loop of their task."""

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
"""How long the loop may be held up by converting; what takes longer is done beside it."""
HANDED_SECONDS = 0.001
"""How long it may be held up by waiting for stages: no longer than it takes to hand this over to another thread."""
FEW = 1_000
"""Fewer records than this take hardly less time than so many."""
THREAD_NAME = "conversion"
MOST_WAITING = 1
"""How many pieces may be under way beside those that are converted: what came meanwhile."""


class Conversion(Generic[R]):
    """Makes something of pieces of records in two steps, in the order they came.

    What is quickly done here, judging by the two pieces before, is done at once, by who brings it: two threads of one
    interpreter take a quarter more of the processor for it. What takes longer is done on one other thread, which
    begins with the first such piece; what stages do, on whose processors it is, is not waited for long in any case.
    Where stages can work on several pieces at once each step has a thread of its own (``Pipeline.is_apart``). Used by
    the loop's thread; ``wake`` is called on another one when a piece is done.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        wake: Callable[[], None],
        executor: Executor | None = None,
        quick: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """``quick`` is how many seconds of converting hold up the loop; by default it depends on who does it."""
        self._wake, self._clock = wake, clock
        self._quick = quick if quick is not None else HANDED_SECONDS if pipeline.has_stages else QUICK_SECONDS
        steps = 2 if pipeline.is_apart else 1
        self._executors = [executor or ThreadPoolExecutor(1, THREAD_NAME) for _ in range(steps)]
        self._coming: deque[Future[R]] = deque()
        self._paces: tuple[float, ...] = ()
        """Seconds that a record took in the last two pieces: the very first waits for modules that are loaded."""

    @property
    def is_busy(self) -> bool:
        """Return whether a piece is under way."""
        return bool(self._coming)

    @property
    def is_full(self) -> bool:
        """Return whether enough is under way, and nothing more should be brought for now."""
        return len(self._coming) >= len(self._executors) + MOST_WAITING

    @property
    def quick_rows(self) -> int:
        """Return how many records would hold up the loop no longer than it may be, if it converted them."""
        pace = max(self._paces, default=math.inf)
        return int(QUICK_SECONDS / pace) if pace else sys.maxsize

    def begin(self, count: int, first: Callable[[], A], then: Callable[[A], R]) -> None:
        """Convert a piece of so many records: ``then`` what comes of ``first``."""

        def start() -> tuple[A, float]:
            began = self._clock()
            return first(), self._clock() - began

        def end(made: A, seconds: float) -> R:
            began = self._clock()
            done = then(made)
            self._paces = (*self._paces[-1:], (seconds + self._clock() - began) / max(count, FEW))
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
        """Have another thread do it; in a process that may have no more threads it is done here."""
        try:
            # what it logs is about whom this thread works for
            done = self._executors[step].submit(copy_context().run, work)
        except RuntimeError:
            self._executors[step].shutdown(wait=False, cancel_futures=True)  # it would do this once it has its thread
            self._executors[step] = ThreadPoolExecutor(1, THREAD_NAME)
            return _now(work)
        if step == len(self._executors) - 1:
            done.add_done_callback(lambda _: self._wake())
        return done

    @property
    def is_next_done(self) -> bool:
        """Return whether the piece that came first is converted."""
        return bool(self._coming) and self._coming[0].done()

    def take(self) -> R:
        """Return what the piece that came first was converted to; raises what converting it raised."""
        return self._coming.popleft().result()

    def close(self) -> None:
        """Wait for what is converted just now, which nobody wants any more, and end the threads."""
        for executor in self._executors:
            executor.shutdown(cancel_futures=True)


def _now(work: Callable[[], A]) -> Future[A]:
    done: Future[A] = Future()
    try:
        done.set_result(work())
    except Exception as error:  # told where the piece is taken
        done.set_exception(error)
    return done
