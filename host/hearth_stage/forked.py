"""What a process does that is to go on by itself: it takes a name, and ends with those it is for."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal

NAME = "HEARTH_STAGE_NAME"
"""The variable that tells a stage its name which was not forked; plugins do not see it."""
ITS_END = 0
"""What of a descriptor is watched where nothing else is."""


def die_with(lifeline: int) -> None:
    """Have Linux kill this process when nobody holds the other end of a pipe, whatever a plugin is doing then."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    watch = select.poll()
    watch.register(lifeline, ITS_END)
    if watch.poll(0):
        os._exit(1)  # it has ended already


def entitle(name: bytes) -> None:
    """Give this process a name that ``ps`` and ``top`` show, of which Linux keeps 15 bytes."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "wb") as title:
        title.write(name)
