"""Timeouts of tests."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT = 60.0
"""Seconds to wait for an event that takes a moment on an idle machine.

A long timeout costs nothing unless the test fails. A machine with eight times as many processes as cores may keep one
of them waiting for ten seconds.
"""


def eventually(condition: Callable[[], bool], timeout: float, every: float = 0.05) -> bool:
    """Check a condition at intervals until it holds; return False on a timeout."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True
