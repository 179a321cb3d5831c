"""A wait between Spark and its Python workers, and what is done about it.

Spark's JVM sends a worker its task in two small writes. The kernel keeps the second one back until the first is
acknowledged (Nagle's algorithm), and on the worker's side it puts that off for 40 ms, in the hope of an answer that
takes the acknowledgement along. None comes before the task is there as a whole. The first write holds the object that
is to do the work: unpickled, it is there just when half of the task is waited for.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from typing import Any

_DESCRIPTORS = "/proc/self/fd"


class SentFirst:
    """Does the work of a task in a worker of Spark, which has the rest of the task as soon as this is there."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Be the copy in the worker."""
        self.__dict__.update(state)
        acknowledge_now()


def acknowledge_now() -> None:
    """Have what has come to this process by TCP acknowledged at once; does nothing where the system cannot.

    A worker has one such connection, that to its JVM.
    """
    option = getattr(socket, "TCP_QUICKACK", None)
    if option is None or not os.path.isdir(_DESCRIPTORS):
        return
    for name in os.listdir(_DESCRIPTORS):
        with contextlib.suppress(OSError):  # one that is closed by now, or no socket of TCP
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    connection.setsockopt(socket.IPPROTO_TCP, option, 1)
