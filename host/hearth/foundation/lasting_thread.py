"""A thread that lives as long as the process, to start child processes from.

Linux sends a child its death signal when the *thread* that started it ends, so that thread has to live as long as the
process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import TypeVar

from hearth.foundation.future import fulfil

T = TypeVar("T")

_Work = Callable[[], None]


def on_lasting_thread(act: Callable[[], T]) -> T:
    """Run a function on that thread, one at a time, and return its result or raise its exception."""
    future: Future[T] = Future()
    _queue(os.getpid()).put(lambda: fulfil(future, act))
    return future.result()


@cache
def _queue(_process: int) -> SimpleQueue[_Work]:
    """Return the queue of the thread; it is created per process, as a forked child has no threads of its parent.

    Concurrent first calls may create several queues, each with a lasting thread. A pool's thread would end with the
    pool, or keep the process from exiting if a signal interrupts its start.
    """
    queue: SimpleQueue[_Work] = SimpleQueue()
    threading.Thread(target=_work, args=[queue], name="hearth-starter", daemon=True).start()
    return queue


def _work(queue: SimpleQueue[_Work]) -> None:
    while True:
        queue.get()()
