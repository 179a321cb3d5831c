"""How the daemon that Spark starts hands its place over to a spare, before it has loaded what a daemon needs.

A hundred tasks may wait for it, so it loads little: see ``hearth.spark.spare_daemon``.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from hearth_stage.peer_user import is_own

ADDRESS, LIFE = "HEARTH_SPARE_DAEMON", "HEARTH_SPARE_LIFE"
"""Where Spark's daemon finds the spare, and by which descriptor the spare sees that nobody wants it any more."""
STANDARD = (0, 1, 2)
TAKEN = b"t"


def hand_over() -> None:
    """Hand the place of this process, which Spark has started, to the spare, if there is one; then do not return."""
    address = os.environ.pop(ADDRESS, None)
    if address is None or LIFE in os.environ:
        return
    with socket.socket(socket.AF_UNIX) as control:
        try:
            control.connect(address.replace("@", "\0", 1))
            if not is_own(control):
                return
            told = json.dumps([os.getppid(), sys.argv, dict(os.environ)]).encode()
            socket.send_fds(control, [told[:1]], STANDARD)
            control.sendall(told[1:])
            control.shutdown(socket.SHUT_WR)
            if control.recv(1) != TAKEN:
                return
        except OSError:
            return
        os.dup2(control.fileno(), 0)
    os.execlp("cat", "cat")  # noqa: S606 - it waits for the end, and needs next to no memory


def is_spare() -> bool:
    """Return whether this process was started as a spare."""
    return LIFE in os.environ
