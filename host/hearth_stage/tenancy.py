"""Whom a thread of a stage works for, of those who share it: what it logs and prints is theirs.

Every tenant has a number; 0 is the stage as a whole, or who has it to himself.
"""

from __future__ import annotations

import functools
import threading

_NUMBER = "hearth_tenant"


def current_tenant() -> int:
    """Return whom this thread works for; 0 also for a thread that a library of C has made."""
    return _tenant_of(threading.current_thread())


def work_for(tenant: int) -> None:
    """Let this thread work for a tenant from now on, and the threads that it starts."""
    setattr(threading.current_thread(), _NUMBER, tenant)


def threads_of(tenant: int) -> list[threading.Thread]:
    """Return the other threads that work for a tenant and have not ended."""
    own = threading.current_thread()
    return [each for each in threading.enumerate() if each is not own and _tenant_of(each) == tenant]


def follow_threads() -> None:
    """Let every thread that is started in this process work for whom the one works that starts it.

    Python says nothing of that before 3.14, so the start of threads is wrapped, as instrumentations do.
    """
    start = threading.Thread.start

    @functools.wraps(start)
    def start_for_same(thread: threading.Thread) -> None:
        setattr(thread, _NUMBER, current_tenant())
        start(thread)

    threading.Thread.start = start_for_same  # type: ignore[method-assign, assignment]


def _tenant_of(thread: threading.Thread) -> int:
    number: int = getattr(thread, _NUMBER, 0)
    return number
