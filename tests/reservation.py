"""Reserves ports for servers that tests start: chosen long before they are bound, next to other test runs."""

from __future__ import annotations

import random
import socket

from hearth.foundation.port import is_free

# Below the range from which the kernel takes ports for outgoing connections. Every second one: a broker's
# controller listens on the first free port after the broker's own.
_PORTS = range(20000, 30000, 2)
_chance = random.SystemRandom()  # hypothesis resets the default generator to the same state in every process
_reservations: list[socket.socket] = []


def reserve_port() -> int:
    """Return a free port that no other process of any test run gets while this one lives.

    A check that it is free is not enough: the server that binds it starts later, or restarts, and another process
    might choose the same port meanwhile. Each costs a descriptor until the process ends.
    """
    while True:
        port = _chance.choice(_PORTS)
        if _is_reserved(port) and is_free(port):
            return port


def _is_reserved(port: int) -> bool:
    """Reserve a port unless another process has, and return whether it is ours now.

    A reservation is an abstract socket address: only one socket can be bound to it, and the kernel releases it when
    the process ends in any way.
    """
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        reservation.bind(f"\0hearth-test-port-{port}")
    except OSError:
        reservation.close()
        return False
    _reservations.append(reservation)
    return True
