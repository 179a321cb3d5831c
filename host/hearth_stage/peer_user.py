"""Who is at the other end of a Unix socket, as the kernel says; with next to nothing to load."""

from __future__ import annotations

import socket
import struct

_CREDENTIALS = struct.Struct("3i")


def user_of(control: socket.socket) -> int:
    """Return the user id of the process at the other end: each side serves, and believes, its own user alone."""
    credentials = control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    user: int = _CREDENTIALS.unpack(credentials)[1]
    return user
