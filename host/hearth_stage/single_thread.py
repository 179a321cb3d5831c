"""Keeps libraries from starting threads when they are loaded, in a process that will fork."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_SETTINGS = {
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # jemalloc in Arrow, even if it is not used
}


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Set variables that keep libraries single-threaded while the block loads them, unless users have set them."""
    added = {name: value for name, value in _SETTINGS.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def threads() -> int:
    """Return the number of threads of this process, including those of libraries; Linux only."""
    return len(os.listdir("/proc/self/task"))
