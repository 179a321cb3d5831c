"""The lineage of a stage: its process and all that it has started, whatever sessions and parents those have by now.

It is a number that processes inherit: their soft limit of locks (``RLIMIT_LOCKS``), which Linux keeps and hands on,
and since version 2.4.25 does nothing with. So a daemon is found that left group, session and parents behind. Where a
process has a limit there already, or changes it, it is told from none, and its group is all that is known.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Iterator

_LOCKS = 10
_SIGN, _BYTES = 0x4EA, 6
"""What the upper bits of a lineage are, and how many bytes below them are its own."""
_BITS = 8 * _BYTES


def new_lineage() -> int:
    """Return a lineage that nobody else has, on this machine or in one of its containers."""
    return _SIGN << _BITS | int.from_bytes(os.urandom(_BYTES), "big")


def found(lineage: int, pid: int = 0) -> None:
    """Begin a lineage with a process, this one unless told, and all that it will start."""
    with contextlib.suppress(OSError, AttributeError, ValueError):  # AttributeError where the system is not Linux
        _, most = resource.prlimit(pid, _LOCKS)
        resource.prlimit(pid, _LOCKS, (lineage, most))


def lineage_of(pid: int = 0) -> int | None:
    """Return the lineage of a process, also of one that has ended and was not waited for."""
    try:
        lineage, _ = resource.prlimit(pid, _LOCKS)
    except (OSError, AttributeError):
        return None
    return lineage if lineage >> _BITS == _SIGN else None


def members(lineage: int) -> Iterator[int]:
    """Yield all processes of a lineage, in the order of their numbers."""
    with contextlib.suppress(FileNotFoundError):  # the system is not Linux
        for number in sorted(int(each) for each in os.listdir("/proc") if each.isdigit()):
            if lineage_of(number) == lineage:
                yield number


def end_lineage(lineage: int) -> None:
    """Kill all processes of a lineage; those whose end is on its way start no others."""
    told: set[int] = set()
    while news := set(members(lineage)) - told:
        for pid in news:
            _kill(pid, lineage)
        told |= news


def _kill(pid: int, lineage: int) -> None:
    """Kill a process, unless the number has become another's."""
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            if lineage_of(pid) == lineage:
                signal.pidfd_send_signal(process, signal.SIGKILL)
        finally:
            os.close(process)
