"""Hands over from the daemon that Spark starts to a preloaded spare; see ``hearth.spark.spare_daemon``.

A hundred tasks may wait for it, so this module imports little.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from hearth_stage.peer_user import is_own

ADDRESS, LIFE = "HEARTH_SPARE_DAEMON", "HEARTH_SPARE_LIFE"
"""Variables with the spare's socket address, and with the descriptor that closes when the spare is not needed."""
STANDARD = (0, 1, 2)
TAKEN = b"t"


def hand_over() -> None:
    """Hand over this process's role as Spark's daemon to the spare; returns only if there is no spare."""
    address = os.environ.pop(ADDRESS, None)
    if address is None or LIFE in os.environ:
        return
    with socket.socket(socket.AF_UNIX) as control:
        try:
            control.connect(address.replace("@", "\0", 1))
            if not is_own(control):
                return
            message = json.dumps([os.getppid(), sys.argv, dict(os.environ)]).encode()
            socket.send_fds(control, [message[:1]], STANDARD)
            control.sendall(message[1:])
            control.shutdown(socket.SHUT_WR)
            if control.recv(1) != TAKEN:
                return
        except OSError:
            return
        os.dup2(control.fileno(), 0)
    os.execlp("cat", "cat")  # noqa: S606 - waits until the spare exits, with almost no memory


def is_spare() -> bool:
    """Return whether this process was started as a spare."""
    return LIFE in os.environ
