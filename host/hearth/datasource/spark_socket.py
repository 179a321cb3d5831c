"""The connection between Spark and a Python worker: how a task comes by it, and how a worker ends that has lost it.

Spark's JVM sends a worker its task in two small writes. The kernel keeps the second one back until the first is
acknowledged (Nagle's algorithm), and on the worker's side it puts that off for 40 ms, in the hope of an answer that
takes the acknowledgement along. None comes before the task is there as a whole. The first write holds the object that
is to do the work: unpickled, it is there just when half of the task is waited for.

Spark closes the connection when it wants no more rows: behind a limit, and where a job is cancelled or fails. The
worker cannot send what is left, and pyspark's daemon prints the trace of that.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import sys
import traceback
from types import SimpleNamespace
from typing import Any

_DESCRIPTORS = "/proc/self/fd"


class SentFirst:
    """Does the work of a task in a worker of Spark, which has the rest of the task as soon as this is there.

    The worker prints nothing when Spark wants no more of the task.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Be the copy in the worker."""
        self.__dict__.update(state)
        acknowledge_now()
        end_quietly()


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


def end_quietly() -> None:
    """Have this worker print no trace of a connection that Spark has closed; other errors are printed as before.

    pyspark's daemon is the main module of the workers that it forks. It prints no errors of tasks, which go to Spark.
    Does nothing in other processes.
    """
    daemon: Any = sys.modules["__main__"]
    spec = getattr(daemon, "__spec__", None)
    if spec is not None and spec.name == "pyspark.daemon":
        daemon.traceback = SimpleNamespace(**{**vars(traceback), "print_exc": _print_unless_lost})


def _print_unless_lost() -> None:
    if not isinstance(sys.exc_info()[1], ConnectionError):
        traceback.print_exc()
