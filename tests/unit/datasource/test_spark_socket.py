"""The connection to Spark's JVM, on which a task arrives in two parts."""

from __future__ import annotations

import pickle
import socket
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from types import ModuleType, SimpleNamespace

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
def test_received_data_is_acknowledged_at_once(connection: socket.socket) -> None:
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
def test_unpickled_reader_acknowledges_at_once(sent: object, connection: socket.socket) -> None:
    """A copy does, not what was copied; and it is a copy."""
    text = pickle.dumps(sent)
    assert not is_quick(connection)
    assert vars(pickle.loads(text)).keys() == vars(sent).keys()
    assert is_quick(connection)


def test_system_without_quickack_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are as quick there as they were."""
    monkeypatch.setattr(spark_socket, "_DESCRIPTORS", "/nowhere")
    spark_socket.acknowledge_now()
    monkeypatch.delattr(socket, "TCP_QUICKACK", raising=False)
    spark_socket.acknowledge_now()


@pytest.mark.parametrize(
    ("error", "is_printed"),
    [
        (BrokenPipeError("x"), False),
        (ConnectionResetError("x"), False),
        (OSError("x"), True),
        (ValueError("x"), True),
    ],
    ids=lambda given: type(given).__name__,
)
def test_worker_prints_no_traceback_of_a_closed_connection(
    error: Exception, is_printed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every other error is printed as before, and the rest of its ``traceback`` is Python's."""
    daemon = ModuleType("__main__")
    vars(daemon).update(__spec__=SimpleNamespace(name="pyspark.daemon"), traceback=traceback)
    monkeypatch.setitem(sys.modules, "__main__", daemon)
    pickle.loads(pickle.dumps(HearthReader({}, StructType())))
    try:
        raise error
    except type(error):
        vars(daemon)["traceback"].print_exc()
        assert type(error).__name__ in vars(daemon)["traceback"].format_exc()
    assert (type(error).__name__ in capsys.readouterr().err) is is_printed


def test_other_processes_keep_their_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planning takes place in one, and so does a test."""
    main = ModuleType("__main__")
    vars(main).update(traceback=traceback)
    monkeypatch.setitem(sys.modules, "__main__", main)
    spark_socket.end_quietly()
    assert vars(main)["traceback"] is traceback
