"""Libraries that start threads when they are loaded, and how they are told not to, for a process that is to fork."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_TOLD = {
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # jemalloc in Arrow, also where it is not used
}


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Tell libraries that are loaded in this block, and nobody else, by variables that users have not set."""
    told = {name: value for name, value in _TOLD.items() if name not in os.environ}
    os.environ.update(told)
    try:
        yield
    finally:
        for name in told:
            os.environ.pop(name, None)


def threads() -> int:
    """Return how many threads this process has on Linux, those of libraries among them."""
    return len(os.listdir("/proc/self/task"))
