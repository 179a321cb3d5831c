"""Python's stack in a process that runs plugins: values may be nested as deep as in Java."""

from __future__ import annotations

import resource
import sys
import threading

MOST_CALLS = 10_000
"""Depth of nested calls: a value has up to a thousand levels, as in Jackson, and each takes up to ten calls."""
THREAD_BYTES = 8 << 20
"""C stack that these calls may take, because some Pythons use it for each call."""


def make_room() -> None:
    """Raise the recursion limit, unless the C stack of the main thread is too small for it."""
    limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
    if limit != resource.RLIM_INFINITY and limit < THREAD_BYTES:
        return
    threading.stack_size(THREAD_BYTES)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), MOST_CALLS))
