"""How long tests wait for what is to happen."""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT = 60.0
"""Seconds after which something does not happen any more that takes a moment on a machine with nothing else to do.

What a test waits for mostly comes at once, so a long wait costs nothing but where the test fails. A machine that
carries eight times as many processes as it has cores may well keep one of them waiting for ten seconds.
"""


def eventually(condition: Callable[[], bool], timeout: float, every: float = 0.05) -> bool:
    """Ask until the answer is yes, and return False when the time is over first."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True
