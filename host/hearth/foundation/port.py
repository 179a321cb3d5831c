"""TCP ports: finds free ones; the error for one that is in use."""

from __future__ import annotations

import socket

from hearth_api import ConnectError

LOOPBACK = "127.0.0.1"


class PortTaken(ConnectError):
    """Another program listens on the requested port."""

    code = "environment.port"


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Without this a port that a stopped server has used within the last minute would count as in use.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def next_free(port: int) -> int:
    """Return the first free port from `port` upwards."""
    for candidate in range(port, 65536):
        if is_free(candidate):
            return candidate
    raise OSError(f"no free port from {port} upwards")
