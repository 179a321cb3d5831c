"""Python's stack in a process that executes plugins: values may be as deep there as in Java."""

from __future__ import annotations

import resource
import sys
import threading

MOST_CALLS = 10_000
"""How deep calls may nest: a value has up to a thousand levels, as Jackson allows, and each takes up to ten calls."""
THREAD_BYTES = 8 << 20
"""How much of C's stack so many calls may take, for some Pythons have a part of it for each."""


def make_room() -> None:
    """Let calls nest so deep from now on, unless the main thread has less of C's stack than that could take."""
    limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if limit != resource.RLIM_INFINITY and limit < THREAD_BYTES:
        return
    threading.stack_size(THREAD_BYTES)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), MOST_CALLS))
