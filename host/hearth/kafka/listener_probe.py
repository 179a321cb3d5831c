"""Detects which protocol a broker's listener speaks, when a client only sees closed connections."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from dataclasses import dataclass

_VERSIONS, _LOGIN = 18, 17
_NO_SASL = 34
"""A listener's answer to a login without SASL (ILLEGAL_SASL_STATE)."""
_ALERT = 0x15
_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class BrokerListener:
    """Properties of a listener."""

    has_tls: bool
    has_sasl: bool | None
    """``None`` if unknown, for example because it requires a client certificate."""
    mechanisms: tuple[str, ...] = ()
    """SASL mechanisms."""

    @property
    def protocols(self) -> tuple[str, ...]:
        """Return the values of ``security.protocol`` that work there."""
        plain, login = ("SSL", "SASL_SSL") if self.has_tls else ("PLAINTEXT", "SASL_PLAINTEXT")
        return (plain, login) if self.has_sasl is None else (login if self.has_sasl else plain,)


def probe(host: str, port: int, timeout: float = 3.0) -> BrokerListener | None:
    """Return the listener at an address, ``None`` if no broker answers there now."""
    with contextlib.suppress(OSError, ValueError), socket.create_connection((host, port), timeout) as plain:
        if (found := _login_of(plain)) is not None:
            return BrokerListener(False, *found)
    with contextlib.suppress(OSError, ValueError), socket.create_connection((host, port), timeout) as plain:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing secret is sent
        try:
            with context.wrap_socket(plain, server_hostname=host) as secured:
                with contextlib.suppress(OSError, ValueError):
                    if (found := _login_of(secured)) is not None:
                        return BrokerListener(True, *found)
                return BrokerListener(True, None)
        except ssl.SSLError as error:
            if "ALERT" in (error.reason or ""):  # it speaks TLS with other requirements
                return BrokerListener(True, None)
    return None


def _login_of(connection: socket.socket) -> tuple[bool | None, tuple[str, ...]] | None:
    """Return whether SASL is required, and the mechanisms; ``None`` if no broker answers."""
    if _answer(connection, _VERSIONS, 0, b"") is None:
        return None
    try:
        answer = _answer(connection, _LOGIN, 1, struct.pack(">h", 0))
    except OSError:
        answer = None  # it closed the connection at an unknown request
    if answer is None:
        return None, ()
    code, count = struct.unpack_from(">hi", answer)
    if code == _NO_SASL:
        return False, ()
    names, at = [], 6
    for _ in range(max(0, min(count, 100))):
        (length,) = struct.unpack_from(">h", answer, at)
        names.append(answer[at + 2 : at + 2 + length].decode("utf-8", "replace"))
        at += 2 + length
    return True, tuple(names)


def _answer(connection: socket.socket, kind: int, version: int, body: bytes) -> bytes | None:
    """Send a request of Kafka's protocol; return the body of the answer, ``None`` if there is none."""
    request = struct.pack(">hhih", kind, version, kind, -1) + body
    connection.sendall(struct.pack(">i", len(request)) + request)
    head = _exactly(connection, 8)
    if head is None or head[0] == _ALERT:
        return None
    length, number = struct.unpack(">ii", head)
    if number != kind or not 4 <= length <= _MOST_BYTES:
        return None
    return _exactly(connection, length - 4)


def _exactly(connection: socket.socket, length: int) -> bytes | None:
    received = b""
    while len(received) < length:
        more = connection.recv(length - len(received))
        if not more:
            return None
        received += more
    return received
