"""Detection of listeners; ``tests/integration/kafka`` uses real brokers."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hearth.kafka.listener_probe import BrokerListener, probe
from tests.reservation import reserve_port


@contextmanager
def listening(*answers: bytes) -> Iterator[int]:
    """Provide a port where each connection is sent one answer for each thing that it says, and then hung up on."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    for answer in answers:
                        connection.recv(1000)
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


VERSIONS = b"\0\0\0\x0a" + b"\0\0\0\x12" + b"\0\x23\0\0\0\0"
NO_LOGIN = b"\0\0\0\x0a" + b"\0\0\0\x11" + b"\0\x22\0\0\0\0"
PLAIN = b"\0\0\0\x11" + b"\0\0\0\x11" + b"\0\x21\0\0\0\1\0\5PLAIN"


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ((VERSIONS, NO_LOGIN), BrokerListener(False, False)),
        ((VERSIONS, PLAIN), BrokerListener(False, True, ("PLAIN",))),
        ((VERSIONS,), BrokerListener(False, None)),
        ((), None),
        ((b"HTTP/1.1 400 Bad Request\r\n\r\n",), None),
        ((b"\0\0\0\x0a",), None),
        ((b"\x7f\xff\xff\xff" + b"\0\0\0\x12",), None),
    ],
    ids=["plain", "login", "old", "hangs up", "web server", "torn", "endless"],
)
def test_listeners_are_detected(answers: tuple[bytes, ...], found: BrokerListener | None) -> None:
    """A port without a broker, or one that closes like a proxy without its broker, is no listener."""
    with listening(*answers) as port:
        assert probe("127.0.0.1", port, 2) == found


def test_closed_port_has_no_listener() -> None:
    """A broker that is away says nothing about its listener."""
    assert probe("127.0.0.1", reserve_port(), 2) is None


def test_protocols_of_a_listener() -> None:
    """A listener that requires a certificate first does not show whether it requires a login."""
    assert BrokerListener(True, None).protocols == ("SSL", "SASL_SSL")
    assert BrokerListener(True, True).protocols == ("SASL_SSL",)
    assert BrokerListener(False, False).protocols == ("PLAINTEXT",)
