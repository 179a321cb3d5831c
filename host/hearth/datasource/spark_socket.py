"""The connection between Spark and a Python worker: avoids a delay at its start and a traceback at its end.

Spark's JVM sends a worker its task in two small writes. The sender's kernel holds back the second one until the first
is acknowledged (Nagle's algorithm), and the worker's kernel delays the acknowledgement by 40 ms, to send it with an
answer. But there is no answer before the whole task has arrived. The first write contains the reader or writer, which
is unpickled just while the worker waits for the second half.

Spark closes the connection when it needs no more rows: after a limit, or when a job is cancelled or fails. The worker
then cannot send the rest, and pyspark's daemon would print a traceback.
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
    """Base of readers and writers: when one is unpickled in a worker, the rest of the task arrives without delay.

    The worker also prints no traceback when Spark closes the connection.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the copy in the worker."""
        self.__dict__.update(state)
        acknowledge_now()
        end_quietly()


def acknowledge_now() -> None:
    """Acknowledge received TCP data of this process at once; does nothing if the system does not support it.

    A worker has one TCP connection, to its JVM.
    """
    option = getattr(socket, "TCP_QUICKACK", None)
    if option is None or not os.path.isdir(_DESCRIPTORS):
        return
    for name in os.listdir(_DESCRIPTORS):
        with contextlib.suppress(OSError):  # closed in the meantime, or not a TCP socket
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as connection:
                    connection.setsockopt(socket.IPPROTO_TCP, option, 1)


def end_quietly() -> None:
    """Suppress this worker's traceback for a connection that Spark has closed; other errors are still printed.

    pyspark's daemon is the main module of the workers that it forks. Errors of tasks go to Spark and are not printed.
    Does nothing in other processes.
    """
    daemon: Any = sys.modules["__main__"]
    spec = getattr(daemon, "__spec__", None)
    if spec is not None and spec.name == "pyspark.daemon":
        daemon.traceback = SimpleNamespace(**{**vars(traceback), "print_exc": _print_unless_lost})


def _print_unless_lost() -> None:
    if not isinstance(sys.exc_info()[1], ConnectionError):
        traceback.print_exc()
