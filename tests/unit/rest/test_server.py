"""Timeouts of the server, and the log messages about its problems."""

from __future__ import annotations

import errno
import socket
import threading
from collections import deque
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.rest import server
from hearth.rest.listener import open_listeners
from hearth.rest.server import EventLoopWarnings, RestServer
from tests.timeouts import TIMEOUT
from tests.unit.herder.catalogue import WORKER
from tests.unit.rest.client import Client, run_apart

STARVED = """
import http.client, logging, os, resource, sys, tempfile, threading, time
from pathlib import Path
from tests.unit.rest.client import serve

told = threading.Event()
logging.basicConfig(stream=sys.stderr)
logging.getLogger("hearth.rest.server").addFilter(lambda record: told.set() or True)

def ask():
    waiting.request("GET", "/connectors")
    answers.append(waiting.getresponse().read())

for client in serve(Path(tempfile.mkdtemp())):
    # to its end, so that the server has no descriptor left to close while the client below asks for one
    assert client.raw(b"GET /connectors HTTP/1.1\\r\\nHost: any\\r\\nConnection: close\\r\\n\\r\\n").endswith(b"[]")
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    waiting = http.client.HTTPConnection("127.0.0.1", client._port, timeout=60)
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        os.close(taken.pop())  # for the client
    answers = []
    asking = threading.Thread(target=ask)
    asking.start()
    assert told.wait(30)
    time.sleep(2)  # the time in which the log grew by megabytes
    assert not answers
    for each in taken:
        os.close(each)
    asking.join(30)
    print(answers, client.call("GET", "/connectors").text)
"""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET /connectors HT",
        b"GET /connectors HTTP/1.1\r\nHost: x\r\nX: a",
        b"POST /connectors HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
    ],
)
def test_an_incomplete_request_times_out(client: Client, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Connections are limited."""
    monkeypatch.setattr(server, "RECEIVE_SECONDS", 0.3)
    assert client.raw(data) == b""


TOO_LONG = (
    b"POST /connectors HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
)
PIECE = b" " * (1 << 16)


def test_a_client_that_still_sends_receives_the_response(client: Client) -> None:
    """Closing a connection with unread bytes resets it: the client fails, and may never see the reason."""
    with socket.create_connection(("127.0.0.1", client.ports[0]), timeout=30) as connection:
        connection.sendall(TOO_LONG)
        answer = connection.recv(1 << 16)
        for _ in range(64):
            connection.sendall(PIECE)
        connection.shutdown(socket.SHUT_WR)
        answer += b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 500")
    assert b"Document length exceeds the maximum allowed" in answer


def test_a_client_that_keeps_sending_is_disconnected(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data after the response is discarded."""
    monkeypatch.setattr(server, "LINGER_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", client.ports[0]), timeout=30) as connection:
        connection.sendall(TOO_LONG)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            deque(iter(lambda: connection.sendall(PIECE), False), maxlen=0)


def test_handling_a_request_may_exceed_the_receive_timeout(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit applies to receiving, not to handling."""
    monkeypatch.setattr(server, "RECEIVE_SECONDS", 0.3)
    free = threading.Event()
    held = client.bench.herder._queues.submit("x", lambda: free.wait(TIMEOUT))
    threading.Timer(1.0, free.set).start()
    assert client.create("x").status == 201
    assert held.result(TIMEOUT)


def test_the_server_recovers_from_a_lack_of_descriptors() -> None:
    """A waiting client is served as soon as there are some; the log has one line."""
    result = run_apart(STARVED)
    assert result.stdout == "[b'[]'] []\n", result.stderr[-3000:]
    assert result.stderr.count("the REST API cannot accept connections at the moment: Too many open files") == 1
    assert "ulimit -n" in result.stderr
    assert len(result.stderr) < 2000


def test_a_lasting_problem_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """Other problems are logged as the loop reports them."""
    now = [0.0]
    complaints, others = EventLoopWarnings(lambda: now[0]), []

    class Loop:
        def default_exception_handler(self, context: dict[str, Any]) -> None:
            others.append(context)

    full = {"message": "m", "exception": OSError(errno.EMFILE, "Too many open files")}
    for _ in range(2048):
        complaints(Loop(), full)  # type: ignore[arg-type]
    assert len(caplog.records) == 1
    now[0] = 61.0
    complaints(Loop(), full)  # type: ignore[arg-type]
    assert len(caplog.records) == 2
    complaints(Loop(), {"message": "else"})  # type: ignore[arg-type]
    assert others == [{"message": "else"}]


def test_a_server_that_never_started_can_be_stopped() -> None:
    """A host that its group rejects ends before it serves requests."""
    listener = open_listeners(WorkerConfig({**WORKER, "listeners": "http://127.0.0.1:0"}))
    RestServer(None, listener).stop()
    assert listener[0].socket.fileno() == -1
