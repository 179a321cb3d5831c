"""An HTTP proxy before a store's server, which fails at random: before the store has a request, or behind it."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

FAULTS = ("500", "503", "cut before", "cut behind", "slow")


class FaultProxy(ThreadingHTTPServer):
    """Passes requests on, except for a share of them that `rate` tells; `faults` counts what was done to them.

    `requests` has the method, address and headers of each; an address with a host is that of a client's proxy.
    """

    daemon_threads = True

    def __init__(self, url: str, seed: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = urlsplit(url).netloc
        self.rate = 0.0
        self.kinds: tuple[str, ...] = FAULTS
        self.faults: Counter[str] = Counter()
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self._random = random.Random(seed)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that close the connection."""

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def fault(self) -> str | None:
        """Return what to do to a request."""
        if self._random.random() >= self.rate:
            return None
        kind = self._random.choice(self.kinds)
        self.faults[kind] += 1
        return kind


@contextmanager
def failing(url: str, seed: int) -> Iterator[FaultProxy]:
    """Serve while the block runs."""
    with FaultProxy(url, seed) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: FaultProxy
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._pass()

    def do_PUT(self) -> None:
        self._pass()

    def do_POST(self) -> None:
        self._pass()

    def do_HEAD(self) -> None:
        self._pass()

    def log_message(self, *_: object) -> None:
        return

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.command, self.path, headers))
        fault = self.server.fault()
        if fault in ("500", "503"):
            self._answer(int(fault), {}, b"<Error><Code>SlowDown</Code></Error>")
            return
        if fault == "cut before":
            self.close_connection = True
            return
        connection = HTTPConnection(self.server.upstream, timeout=60)
        try:
            address = urlsplit(self.path)
            path = address._replace(scheme="", netloc="").geturl()
            host = {"host": self.server.upstream} if address.netloc else {}
            connection.request(self.command, path, body, {**headers, **host})
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, HTTPException):
            self.close_connection = True
            return
        finally:
            connection.close()
        if fault == "cut behind":
            self.close_connection = True
            return
        if fault == "slow":
            time.sleep(0.3)
        self._answer(answer.status, dict(answer.getheaders()), content)

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        length = headers.get("Content-Length") if self.command == "HEAD" else str(len(content))
        self.send_header("content-length", length or "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
