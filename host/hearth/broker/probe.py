"""Checks whether a broker serves, with Kafka's protocol but without a client library.

One Metadata request (api 3, version 2) is enough: the response lists the brokers that accept requests and the id of
their cluster, which distinguishes this broker from another one that happens to listen on the same port.
"""

from __future__ import annotations

import socket
import struct

_METADATA, _VERSION, _CORRELATION = 3, 2, 1
_CLIENT = b"hearth"
_NO_TOPICS = 0
_TIMEOUT = 5.0


def serving_cluster(host: str, port: int) -> str | None:
    """Return the id of the cluster that serves at this address; None if none does yet."""
    try:
        with socket.create_connection((host, port), timeout=_TIMEOUT) as connection:
            connection.sendall(_request())
            return _cluster(_answer(connection))
    except (OSError, struct.error):
        return None


def _request() -> bytes:
    """Return the request for the brokers, without topics."""
    head = struct.pack(">hhih", _METADATA, _VERSION, _CORRELATION, len(_CLIENT)) + _CLIENT
    body = head + struct.pack(">i", _NO_TOPICS)
    return struct.pack(">i", len(body)) + body


def _answer(connection: socket.socket) -> bytes:
    """Return the body of the response, without length and correlation id."""
    (length,) = struct.unpack(">i", _exactly(connection, 4))
    return _exactly(connection, length)[4:]


def _exactly(connection: socket.socket, count: int) -> bytes:
    """Read ``count`` bytes, or fewer if the other side closes the connection."""
    data = b""
    while len(data) < count and (chunk := connection.recv(count - len(data))):
        data += chunk
    return data


def _cluster(body: bytes) -> str | None:
    """Return the cluster id of a response; None if it lists no broker yet."""
    (brokers,) = struct.unpack_from(">i", body, 0)
    position = 4
    for _ in range(brokers):
        _, position = _string(body, position + 4)
        _, position = _string(body, position + 4)
    cluster, _ = _string(body, position)
    return cluster if brokers else None


def _string(body: bytes, position: int) -> tuple[str | None, int]:
    """Return the string at a position, None if it is null, and the position after it."""
    (length,) = struct.unpack_from(">h", body, position)
    start = position + 2
    if length < 0:
        return None, start
    return body[start : start + length].decode(), start + length
