"""An S3 server of tests, and a proxy before it that cuts answers."""

from __future__ import annotations

import contextlib
import http.client
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3

from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

REGION = "us-west-2"
KEY, SECRET = "tests", "only-for-tests"


@dataclass(frozen=True)
class S3Server:
    """A running server, and how to reach it."""

    url: str

    def client(self) -> boto3.client:
        """Return a client of the tests' own."""
        keys = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET}
        return boto3.client("s3", endpoint_url=self.url, region_name=REGION, **keys)

    def make_bucket(self, name: str) -> None:
        """Create an empty bucket."""
        self.client().create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})

    def settings(self) -> dict[str, str]:
        """Return the keys by which a connector reaches it."""
        return {
            "store.url": self.url,
            "s3.region": REGION,
            "aws.access.key.id": KEY,
            "aws.secret.access.key": SECRET,
        }


@contextlib.contextmanager
def serving() -> Iterator[S3Server]:
    """Run a server, which keeps everything in memory."""
    port = reserve_port()
    command = [str(Path(sys.executable).with_name("moto_server")), "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert eventually(lambda: _answers(port), TIMEOUT)
        yield S3Server(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
        connection.request("GET", "/")
        return connection.getresponse().status < 500
    except OSError:
        return False


Fault = Callable[[str, str], "int | None"]
"""Of a method and a path: None to answer as the server does, 0 to pass the request on and cut the answer, or a status
to answer with instead of passing it on."""


@contextlib.contextmanager
def faulty(server: S3Server, fault: Fault) -> Iterator[S3Server]:
    """Run a proxy before a server with faults."""

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass(self) -> None:
            body = self._body()
            found = fault(self.command, self.path)
            if found:
                self._answer(found, {}, b"<Error><Code>SlowDown</Code></Error>")
                return
            connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
            connection.request(self.command, self.path, body, dict(self.headers))
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            if found == 0:
                self.close_connection = True
                self.connection.close()
                return
            self._answer(answer.status, dict(answer.getheaders()), content)

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass  # noqa: N815 - names of the standard library

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # cut connections

    with Server(("127.0.0.1", 0), Proxy) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield S3Server(f"http://127.0.0.1:{proxy.server_port}")
        finally:
            proxy.shutdown()
            thread.join()
