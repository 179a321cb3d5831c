"""The tenant that a thread of a stage works for; its log and output belong to that tenant.

Every tenant has a number; 0 is the whole stage, or its only user.
"""

from __future__ import annotations

import functools
import threading

_NUMBER = "hearth_tenant"


def current_tenant() -> int:
    """Return the tenant of this thread; 0 also for a thread that a C library created."""
    return _tenant_of(threading.current_thread())


def work_for(tenant: int) -> None:
    """Assign this thread, and the threads that it starts, to a tenant."""
    setattr(threading.current_thread(), _NUMBER, tenant)


def threads_of(tenant: int) -> list[threading.Thread]:
    """Return the other running threads of a tenant."""
    own = threading.current_thread()
    return [each for each in threading.enumerate() if each is not own and _tenant_of(each) == tenant]


def follow_threads() -> None:
    """Make every thread inherit the tenant of the thread that starts it.

    Python supports this only from 3.14 on, so ``Thread.start`` is wrapped, as instrumentation does.
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
