"""Checks whether a broker serves."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from hearth.broker.probe import serving_cluster
from hearth.foundation.port import LOOPBACK
from tests.reservation import reserve_port


@contextmanager
def _answering(body: bytes | None) -> Iterator[int]:
    """Serve one connection with a prepared answer; None hangs up instead."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1024)
            if body is not None:
                connection.sendall(struct.pack(">ii", len(body) + 4, 1) + body)

    with socket.create_server((LOOPBACK, 0)) as server:
        thread = Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def _broker(number: int) -> bytes:
    return struct.pack(">i", number) + _text("127.0.0.1") + struct.pack(">i", 9092) + struct.pack(">h", -1)


def test_cluster_of_a_serving_broker_is_returned() -> None:
    """An answer that lists brokers names the cluster they belong to."""
    body = struct.pack(">i", 2) + _broker(1) + _broker(2) + _text("the-cluster") + b"rest"
    with _answering(body) as port:
        assert serving_cluster(LOOPBACK, port) == "the-cluster"


@pytest.mark.parametrize("body", [struct.pack(">i", 0) + _text("x"), b"", struct.pack(">i", 1) + b"\0\0", None])
def test_incomplete_answer_means_not_yet(body: bytes | None) -> None:
    """A broker that lists no brokers, hangs up or sends half an answer does not serve."""
    with _answering(body) as port:
        assert serving_cluster(LOOPBACK, port) is None


def test_refused_connection_means_not_yet() -> None:
    """It is not an error."""
    assert serving_cluster(LOOPBACK, reserve_port()) is None
