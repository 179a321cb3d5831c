"""Identifies the peer of a Unix socket, as the kernel reports it; imports as little as possible."""

from __future__ import annotations

import os
import socket
import struct

_CREDENTIALS = struct.Struct("3i")
_NUMBERS = "NSpid:"


def user_of(control: socket.socket) -> int:
    """Return the user id of the peer."""
    return _peer(control)[1]


def is_own(control: socket.socket) -> bool:
    """Return whether the peer is this user's and not more confined than this process.

    Each side serves and trusts only such peers. A plugin with its own processes has the same user and could read the
    addresses, but must not escape its namespace this way. False if the listening process has ended.
    """
    pid, user, _ = _peer(control)
    return user == os.geteuid() and pid > 0 and _namespaces(str(pid)) == _namespaces("self")


def _peer(control: socket.socket) -> tuple[int, int, int]:
    process, user, group = _CREDENTIALS.unpack(
        control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    return process, user, group


def _namespaces(process: str) -> int:
    """Return the number of nested process namespaces in which a process has a number, from that of ``/proc`` on."""
    try:
        with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as status:
            return next((len(line.split()) - 1 for line in status if line.startswith(_NUMBERS)), 0)
    except OSError:
        return -1
