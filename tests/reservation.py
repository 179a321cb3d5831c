"""Ports of servers that tests start: chosen long before they are bound, beside other runs of the tests."""

from __future__ import annotations

import random
import socket

from hearth.foundation.port import is_free

# Below the range from which the kernel takes ports for outgoing connections. Every second one: a broker listens for
# its controller on the first free port behind its own.
_PORTS = range(20000, 30000, 2)
_chance = random.SystemRandom()  # hypothesis begins the usual one anew, at the same place in every process
_reservations: list[socket.socket] = []


def reserve_port() -> int:
    """Return a free port that no other process of any test run is given for as long as this one lives.

    That it is free is not enough: the server that binds it is started later, or again, and another process might
    choose the same one meanwhile. Each costs a descriptor until the process ends.
    """
    while True:
        port = _chance.choice(_PORTS)
        if _is_reserved(port) and is_free(port):
            return port


def _is_reserved(port: int) -> bool:
    """Reserve a port unless somebody has, and return whether it is ours now.

    A reservation is an abstract socket address: only one can be bound to it, and the kernel lets go of it when the
    process ends, however that comes.
    """
    reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        reservation.bind(f"\0hearth-test-port-{port}")
    except OSError:
        reservation.close()
        return False
    _reservations.append(reservation)
    return True
