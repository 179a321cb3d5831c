"""The connection to Spark's JVM, by which a task comes in two parts."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql.types import StructType

from hearth.datasource import spark_socket
from hearth.datasource.batch_read import HearthReader
from hearth.datasource.stream_read import HearthStreamReader
from hearth.datasource.write import HearthStreamWriter, HearthWriter

QUICK = getattr(socket, "TCP_QUICKACK", None)
needs_quick = pytest.mark.skipif(QUICK is None, reason="the system does not say when it acknowledges")


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """Provide a connection whose kernel waits for an answer before it acknowledges."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = opened.enter_context(socket.create_connection(listener.getsockname()))
        opened.enter_context(listener.accept()[0])
        assert QUICK is not None
        client.setsockopt(socket.IPPROTO_TCP, QUICK, 0)
        yield client


def is_quick(connection: socket.socket) -> bool:
    """Return whether what comes is acknowledged at once."""
    assert QUICK is not None
    return bool(connection.getsockopt(socket.IPPROTO_TCP, QUICK))


@needs_quick
def test_what_came_is_acknowledged_at_once(connection: socket.socket) -> None:
    """Whatever other descriptors there are; all stay open."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not is_quick(connection)
        spark_socket.acknowledge_now()
        assert is_quick(connection)
        ours.send(b"still there")
        assert theirs.recv(100) == b"still there"


@needs_quick
@pytest.mark.parametrize(
    "sent",
    [
        HearthReader({"a": "b"}, StructType()),
        HearthStreamReader({"a": "b"}, StructType()),
        HearthWriter(None),  # type: ignore[arg-type]
        HearthStreamWriter(None),  # type: ignore[arg-type]
    ],
    ids=lambda sent: type(sent).__name__,
)
def test_a_worker_that_is_given_its_work_acknowledges_it(sent: object, connection: socket.socket) -> None:
    """A copy does, not what was copied; and it is a copy."""
    text = pickle.dumps(sent)
    assert not is_quick(connection)
    assert vars(pickle.loads(text)).keys() == vars(sent).keys()
    assert is_quick(connection)


def test_a_system_that_has_no_say_in_it_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are as quick there as they were."""
    monkeypatch.setattr(spark_socket, "_DESCRIPTORS", "/nowhere")
    spark_socket.acknowledge_now()
    monkeypatch.delattr(socket, "TCP_QUICKACK", raising=False)
    spark_socket.acknowledge_now()
