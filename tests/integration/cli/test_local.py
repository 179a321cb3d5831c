"""A local host next to other processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.cli.local import LocalHost
from hearth_api import ConnectError
from tests.reservation import reserve_port

JSON = "org.apache.kafka.connect.json.JsonConverter"


class Stranger(BaseHTTPRequestHandler):
    """Responds with success to every request."""

    def do_GET(self) -> None:
        """Send a response."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def stranger() -> Iterator[int]:
    """Run another HTTP server; yields its port."""
    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def test_another_process_on_the_port_is_not_mistaken_for_the_host(broker: KafkaBroker, tmp_path: Path) -> None:
    """Another process, even another host, may take the port between its choice and its use."""
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": JSON,
        "value.converter": JSON,
        "offset.storage.file.filename": str(tmp_path / "offsets"),
    }
    with stranger() as port:
        host = LocalHost(tmp_path, port, settings)
        try:
            host.start()
            assert host.url != f"http://127.0.0.1:{port}"
            assert host.request("GET", "/")["kafka_cluster_id"] == broker.cluster_id
        finally:
            host.stop()


def test_a_wrong_broker_address_is_reported_within_seconds(tmp_path: Path) -> None:
    """A wrong broker address is reported after seconds, not when the host has given up."""
    settings = {
        "bootstrap.servers": f"127.0.0.1:{reserve_port()}",
        "default.api.timeout.ms": "6000",
        "key.converter": JSON,
        "value.converter": JSON,
        "offset.storage.file.filename": str(tmp_path / "offsets"),
    }
    messages: list[str] = []
    host = LocalHost(tmp_path, reserve_port(), settings)
    try:
        with pytest.raises(ConnectError, match="no broker answered"):
            host.start(messages.append)
    finally:
        host.stop()
    assert messages
    assert settings["bootstrap.servers"] in messages[0]
