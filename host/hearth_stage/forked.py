"""Sets up a process that runs independently: it gets a name and ends with its owners."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal

NAME = "HEARTH_STAGE_NAME"
"""Variable that holds the name of a stage that was not forked; plugins do not see it."""
ITS_END = 0
"""Event mask for ``poll`` that reports only the end of a descriptor."""


def die_with(lifeline: int) -> None:
    """Ask Linux to kill this process when no process holds the other end of a pipe, whatever a plugin is doing."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    watch = select.poll()
    watch.register(lifeline, ITS_END)
    if watch.poll(0):
        os._exit(1)  # it has ended already


def entitle(name: bytes) -> None:
    """Set this process's name in ``ps`` and ``top``, of which Linux keeps 15 bytes."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "wb") as title:
        title.write(name)
