"""Rules of finding a port."""

from __future__ import annotations

import socket

from hearth.foundation.port import LOOPBACK, is_free, next_free


def test_port_with_a_listener_is_not_free() -> None:
    """A port is taken while somebody listens on it, and the search goes past it."""
    with socket.create_server((LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        assert not is_free(port)
        assert next_free(port) > port
    assert is_free(port)


def test_listener_on_all_interfaces_takes_the_port_as_well() -> None:
    """A server bound to 0.0.0.0 serves the loopback interface too."""
    with socket.create_server(("", 0)) as server:
        assert not is_free(server.getsockname()[1])
