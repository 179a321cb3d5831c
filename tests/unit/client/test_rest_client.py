"""Requests reach the first worker that answers, with the context's user and certificates."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hearth.client.client_context import ClientContext
from hearth.client.rest_client import RequestRefused, RestClient, Unreachable
from hearth_api import ConfigError, ConnectError, NotFoundError
from tests.reservation import reserve_port
from tests.web_server import certificate

BUSY = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."


class Worker(ThreadingHTTPServer):
    """Answers with what a test put in, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.closes = False

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Handles one connection of the worker."""

    protocol_version = "HTTP/1.1"
    server: Worker

    def answer(self) -> None:
        """Send the next answer; the last one is repeated."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, dict(self.headers), body))
        answers = self.server.answers
        status, content = answers.pop(0) if len(answers) > 1 else answers[0]
        data = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        if self.server.closes:  # without a word, as a worker that restarts
            self.close_connection = True

    do_GET = do_PUT = do_POST = answer  # noqa: N815  the names that the base class asks for

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def running(worker: Worker) -> Iterator[Worker]:
    """Run a worker."""
    thread = threading.Thread(target=worker.serve_forever, args=[0.01])
    thread.start()
    yield worker
    worker.shutdown()
    thread.join()
    worker.server_close()


@pytest.fixture
def worker() -> Iterator[Worker]:
    """Provide a worker that answers with an empty object."""
    with running(Worker()) as served:
        served.answers = [(200, {})]
        yield served


class Clients:
    """Makes clients, and closes them at the end of the test."""

    def __init__(self) -> None:
        self.made: list[RestClient] = []

    def __call__(self, *urls: str, busy_seconds: float = 30, **members: Any) -> RestClient:
        """Return a client that does not wait between tries."""
        context = ClientContext(urls, **members)
        self.made.append(RestClient(context, timeout=5, busy_seconds=busy_seconds, wait=lambda _: None))
        return self.made[-1]


@pytest.fixture
def client() -> Iterator[Clients]:
    """Provide a factory of clients of addresses."""
    clients = Clients()
    yield clients
    for each in clients.made:
        each.close()


def test_a_request_has_its_query_body_and_headers(client: Clients, worker: Worker) -> None:
    """Values are encoded; the context's headers come with each request."""
    client(worker.url, headers={"X-Team": "a"}).request("PUT", "/a", {"k": "ü"}, {"name": "a/b", "e": ["x", "y"]})
    ((method, path, headers, body),) = worker.asked
    assert (method, path) == ("PUT", "/a?name=a%2Fb&e=x&e=y")
    assert (headers["X-Team"], headers["Content-Type"]) == ("a", "application/json")
    assert json.loads(body) == {"k": "ü"}


def test_a_path_of_the_address_comes_first(client: Clients, worker: Worker) -> None:
    """A gateway may serve several clusters."""
    client(f"{worker.url}/team/connect").request("GET", "/connectors")
    assert worker.asked[0][1] == "/team/connect/connectors"


def test_the_first_worker_that_accepts_a_connection_answers(client: Clients, worker: Worker) -> None:
    """And is asked first from then on."""
    gone = f"http://127.0.0.1:{reserve_port()}"
    asks = client(gone, worker.url)
    assert asks.request("GET", "/") == {}
    assert asks.request("GET", "/") == {}
    assert len(worker.asked) == 2


def test_if_no_worker_answers_all_are_named(client: Clients) -> None:
    """It is about the environment, and has its exit code."""
    urls = tuple(f"http://127.0.0.1:{reserve_port()}" for _ in range(2))
    with pytest.raises(Unreachable) as caught:
        client(*urls).request("GET", "/")
    assert all(f"{url}: connection refused" in str(caught.value) for url in urls)
    assert caught.value.code == "environment.unreachable"


def test_a_request_is_repeated_while_the_cluster_elects_a_leader(client: Clients, worker: Worker) -> None:
    """Java answers 409 then, as it does for a connector that exists, which is not repeated."""
    busy = (409, {"error_code": 409, "message": BUSY})
    worker.answers = [busy, busy, (200, {"done": True})]
    assert client(worker.url).request("POST", "/connectors", {}) == {"done": True}
    assert len(worker.asked) == 3
    worker.answers = [(409, {"error_code": 409, "message": "Connector c already exists"})]
    with pytest.raises(RequestRefused, match="already exists"):
        client(worker.url).request("POST", "/connectors", {})
    assert len(worker.asked) == 4


def test_repeating_ends(client: Clients, worker: Worker) -> None:
    """With the worker's words."""
    worker.answers = [(409, {"error_code": 409, "message": BUSY})]
    with pytest.raises(RequestRefused, match="momentarily"):
        client(worker.url, busy_seconds=0.05).request("GET", "/connectors")


def test_a_connection_that_the_worker_closed_is_replaced(client: Clients, worker: Worker) -> None:
    """Between two requests, without a word."""
    worker.closes = True
    asks = client(worker.url)
    assert [asks.request("GET", f"/{each}") for each in range(3)] == [{}] * 3
    assert [path for _, path, _, _ in worker.asked] == ["/0", "/1", "/2"]


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (404, NotFoundError, "m"),
        (400, RequestRefused, "m"),
        (403, RequestRefused, "GET .*/x: m"),
        (500, ConnectError, "GET .*/x: HTTP 500: m"),
    ],
)
def test_each_status_is_its_kind_of_error(
    client: Clients, worker: Worker, status: int, kind: type[ConnectError], words: str
) -> None:
    """With the worker's message."""
    worker.answers = [(status, {"error_code": status, "message": "m"})]
    with pytest.raises(kind, match=words) as caught:
        client(worker.url).request("GET", "/x")
    assert type(caught.value) is kind


def test_what_is_no_worker_is_said_so(client: Clients, worker: Worker) -> None:
    """Some other page at this address."""
    worker.answers = [(200, "<html>hello")]
    with pytest.raises(ConnectError, match="without JSON: <html>hello"):
        client(worker.url).request("GET", "/")


def test_the_password_comes_from_the_command_the_variable_or_netrc(
    client: Clients, worker: Worker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In this order."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("HEARTH_PASSWORD", raising=False)
    with pytest.raises(ConfigError, match=r"no password for user 'me' at 127\.0\.0\.1"):
        client(worker.url, user="me").request("GET", "/")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password from-netrc\n")
    (tmp_path / ".netrc").chmod(0o600)
    client(worker.url, user="me").request("GET", "/")
    monkeypatch.setenv("HEARTH_PASSWORD", "from-variable")
    client(worker.url, user="me").request("GET", "/")
    client(worker.url, user="me", password_command="printf 'from-command\\n'").request("GET", "/")
    tokens = [headers["Authorization"].removeprefix("Basic ") for _, _, headers, _ in worker.asked]
    found = [base64.b64decode(each).decode() for each in tokens]
    assert found == ["me:from-netrc", "me:from-variable", "me:from-command"]


def test_a_password_command_that_fails_is_named(client: Clients, worker: Worker) -> None:
    """The request is not sent without it."""
    with pytest.raises(ConfigError, match="exited with code 3"):
        client(worker.url, user="me", password_command="exit 3").request("GET", "/")
    assert worker.asked == []


def test_tls_checks_the_worker_and_shows_the_clients_certificate(client: Clients, tmp_path: Path) -> None:
    """Both sides know the other's authority."""
    identity = str(certificate(tmp_path / "identity.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(identity)
    tls.load_verify_locations(identity)
    tls.verify_mode = ssl.CERT_REQUIRED
    with Worker() as secured:
        secured.answers = [(200, {})]
        secured.socket = tls.wrap_socket(secured.socket, server_side=True)
        url = f"https://127.0.0.1:{secured.server_port}"
        with running(secured):
            assert client(url, ca=identity, certificate=identity).request("GET", "/") == {}
            with pytest.raises(ConnectError, match=r"TLS: .*certificate") as caught:
                client(url).request("GET", "/")
        assert caught.value.code == "environment.tls"


def test_tls_files_that_cannot_be_read_are_named(client: Clients, tmp_path: Path) -> None:
    """Before anything is sent."""
    with HTTPServer(("127.0.0.1", 0), Handler) as server, pytest.raises(ConfigError, match=r"TLS files .*no\.pem"):
        client(f"https://127.0.0.1:{server.server_port}", ca=str(tmp_path / "no.pem")).request("GET", "/")
