"""A client of a REST server over stand-in plugins and a fake Spark."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.config import WorkerConfig
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.queue import done
from hearth.rest.answer import AnswerTimeout
from hearth.rest.app import ALONE, ClusterAccess, Health, ServerInfo, new_admin_app, new_app
from hearth.rest.extension import Extensions
from hearth.rest.listener import open_listeners
from hearth.rest.server import RestServer
from hearth.storage import State
from tests.unit.herder.catalogue import WORKER, directory
from tests.unit.herder.fake import Bench

ID = "127.0.0.1:8083"
CONFIG = {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": "t"}


@dataclass
class Answer:
    """A received response."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """Return the body as data."""
        return json.loads(self.text)


class Client:
    """Talks to a server over a real socket."""

    def __init__(self, bench: Bench, port: int, health: Health, ports: Sequence[int] = ()) -> None:
        self.bench = bench
        self.health = health
        self.ports = ports
        self._port = port

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str | None = "application/json",
        headers: Mapping[str, str] | None = None,
        port: int | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> Answer:
        """Send one request, without a content type unless given."""
        to = port or self._port
        connection = (
            http.client.HTTPSConnection("localhost", to, timeout=30, context=tls)
            if tls
            else http.client.HTTPConnection("127.0.0.1", to, timeout=30)
        )
        data = body if isinstance(body, (str, bytes)) or body is None else json.dumps(body)
        own = {} if body is None or content_type is None else {"Content-Type": content_type}
        connection.request(method, path, data, {**own, **(headers or {})})
        reply = connection.getresponse()
        answer = Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read().decode())
        connection.close()
        return answer

    def raw(self, data: bytes) -> bytes:
        """Send raw bytes and return everything received until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self._port), timeout=30) as connection:
            connection.sendall(data)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

    def create(self, name: str = "c", **changes: Any) -> Answer:
        """Create a source connector."""
        answer = self.call("POST", "/connectors", {"name": name, "config": {**CONFIG, **changes}})
        if answer.status == 201 and answer.json["tasks"]:
            self.bench.await_task(name.strip(), State.RUNNING)
        return answer


def serve(
    root: Path,
    worker: dict[str, str] | None = None,
    seconds: float = 30,
    extensions: Callable[[Bench], Extensions] | None = None,
    known: PluginDirectory | None = None,
    cluster: ClusterAccess = ALONE,
) -> Iterator[Client]:
    """Serve a herder over stand-ins until the test ends."""
    bench = Bench(root, worker)
    config = WorkerConfig({**WORKER, "listeners": "http://127.0.0.1:0", **(worker or {})})
    health, info = Health(done(None)), ServerInfo("4.3.1", "26b251a451ce941d", "cluster")
    loaded = None if extensions is None else extensions(bench)
    app = new_app(
        config, bench.herder, known or directory(root), info, health, AnswerTimeout(seconds), loaded, cluster
    )
    listeners = open_listeners(config)
    server = RestServer(app, listeners, new_admin_app(config))
    server.start()
    yield Client(bench, server.port, health, [each.port for each in listeners])
    server.stop()
    if loaded:
        loaded.close()
    bench.herder.shut_down()


def pem(file: Path, prefix: str = "listeners.https.") -> dict[str, str]:
    """Return the settings of https listeners for the key and certificate in a file."""
    return {f"{prefix}ssl.keystore.location": str(file), f"{prefix}ssl.keystore.type": "PEM"}


def error(status: int, message: str) -> tuple[int, str]:
    """Return an error response in Kafka's format."""
    return status, json.dumps({"error_code": status, "message": message}, separators=(",", ":"))


def run_apart(code: str) -> subprocess.CompletedProcess[str]:
    """Run a server and its client in a separate process, so that limits do not affect other tests."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=110, check=False)
