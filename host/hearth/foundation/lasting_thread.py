"""The one thread of a process that ends with it, for children that are not to outlive it.

Linux sends a child its death signal when the *thread* that started it ends, so that thread has to live as long as the
process does.
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
    """Do something on that thread, and return or raise what comes of it; one thing after the other."""
    future: Future[T] = Future()
    _queue(os.getpid()).put(lambda: fulfil(future, act))
    return future.result()


@cache
def _queue(_process: int) -> SimpleQueue[_Work]:
    """Return what the thread takes its work from; a forked child has none of its parent's threads.

    Where several ask for it at first, each may get another, whose thread lasts all the same. That of a pool would end
    with the pool, or keep the process from ending where a signal has interrupted its start.
    """
    queue: SimpleQueue[_Work] = SimpleQueue()
    threading.Thread(target=_work, args=[queue], name="hearth-starter", daemon=True).start()
    return queue


def _work(queue: SimpleQueue[_Work]) -> None:
    while True:
        queue.get()()
