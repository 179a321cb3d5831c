"""Who is at the other end of a Unix socket, as the kernel says; with next to nothing to load."""

from __future__ import annotations

import os
import socket
import struct

_CREDENTIALS = struct.Struct("3i")
_NUMBERS = "NSpid:"


def user_of(control: socket.socket) -> int:
    """Return the user id of the process at the other end."""
    return _peer(control)[1]


def is_own(control: socket.socket) -> bool:
    """Return whether the process at the other end is this user's, and is no more confined than this one.

    Each side serves, and believes, nobody else. A plugin with processes of its own has our user, and could read our
    addresses, but is not to leave its namespace with our help. Where the process that listens has ended, nobody knows.
    """
    pid, user, _ = _peer(control)
    return user == os.geteuid() and pid > 0 and _namespaces(str(pid)) == _namespaces("self")


def _peer(control: socket.socket) -> tuple[int, int, int]:
    process, user, group = _CREDENTIALS.unpack(
        control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return process, user, group


def _namespaces(process: str) -> int:
    """Return in how many namespaces, one within the other, a process has a number, from that of ``/proc`` on."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as status:
            return next((len(line.split()) - 1 for line in status if line.startswith(_NUMBERS)), 0)
    except OSError:
        return -1
