"""The lineage of a stage: its process and all its descendants, whatever their sessions and parents.

It is a number that processes inherit: their soft limit of locks (``RLIMIT_LOCKS``), which Linux keeps but has not used
since version 2.4.25. So a daemon is found even after it has left its group, session and parents. If a process already
has such a limit, or changes it, its lineage is unknown, and only its group can be killed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Iterator

_LOCKS = 10
_SIGN, _BYTES = 0x4EA, 6
"""Upper bits of every lineage, and the number of random bytes below them."""
_BITS = 8 * _BYTES


def new_lineage() -> int:
    """Return a new lineage, unique on this machine and its containers."""
    return _SIGN << _BITS | int.from_bytes(os.urandom(_BYTES), "big")


def found(lineage: int, pid: int = 0) -> None:
    """Assign a lineage to a process, by default this one; its future children inherit it."""
    with contextlib.suppress(OSError, AttributeError, ValueError):  # AttributeError where the system is not Linux
        _, most = resource.prlimit(pid, _LOCKS)
        resource.prlimit(pid, _LOCKS, (lineage, most))


def lineage_of(pid: int = 0) -> int | None:
    """Return the lineage of a process, also of one that has ended but was not waited for."""
    try:
        lineage, _ = resource.prlimit(pid, _LOCKS)
    except (OSError, AttributeError):
        return None
    return lineage if lineage >> _BITS == _SIGN else None


def members(lineage: int) -> Iterator[int]:
    """Yield all processes of a lineage, sorted by number."""
    with contextlib.suppress(FileNotFoundError):  # the system is not Linux
        for number in sorted(int(each) for each in os.listdir("/proc") if each.isdigit()):
            if lineage_of(number) == lineage:
                yield number


def end_lineage(lineage: int) -> None:
    """Kill all processes of a lineage; repeats until no new ones appear."""
    seen: set[int] = set()
    while news := set(members(lineage)) - seen:
        for pid in news:
            _kill(pid, lineage)
        seen |= news


def _kill(pid: int, lineage: int) -> None:
    """Kill a process, unless its number has been reused."""
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            if lineage_of(pid) == lineage:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)
