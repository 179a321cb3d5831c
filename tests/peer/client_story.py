"""Third-party clients of Kafka Connect's REST API, and the responses they get from a worker.

`kafka-connect-py` is one of the development dependencies. `kafka-connect-client` is JavaScript and needs Node.js,
which a fresh machine lacks, so it is optional: with Node.js, the client is installed once into this user's cache,
from a lock with hashes (`npm/`).
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from hearth.foundation.user_file import cache_directory
from tests.peer.rest_case import await_state, delete_all, neutral
from tests.peer.worker import Worker

NPM = Path(__file__).with_name("npm")
_SECONDS = 60.0
_CONFIG = {"connector.class": "FileStreamSource", "file": "/nonexistent/in.txt", "topic": "client-topic"}


@dataclass(frozen=True)
class Ask:
    """One call of a client; with `state` it waits until connector `c` and its tasks are in that state."""

    call: str
    args: tuple[Any, ...] = ()
    state: str | None = None


@dataclass(frozen=True)
class ClientStory:
    """The calls of one client, in order."""

    name: Literal["kafka-connect-py", "kafka-connect-client"]
    asks: tuple[Ask, ...]

    @property
    def is_possible(self) -> bool:
        """Return whether this machine can run the client."""
        return self.name == "kafka-connect-py" or None not in (shutil.which("node"), shutil.which("npm"))


class Client(Protocol):
    """A client in any language."""

    def ask(self, ask: Ask) -> Any:
        """Return the result of a call, or its failure."""


def tell(story: ClientStory, worker: Worker) -> list[Any]:
    """Return a client's results, without the names of the worker."""
    open_client = _python if story.name == "kafka-connect-py" else _node
    try:
        with open_client(worker.port) as client:
            return [_result(client, ask, worker) for ask in story.asks]
    finally:
        delete_all(worker)


def _result(client: Client, ask: Ask, worker: Worker) -> Any:
    if ask.state:
        await_state(worker, ask.state, "c")
    return {"asked": ask.call, "told": neutral(client.ask(ask))}


class _PythonClient:
    def __init__(self, port: int) -> None:
        from kafka_connect import KafkaConnect

        self._client = KafkaConnect(f"http://127.0.0.1:{port}")

    def ask(self, ask: Ask) -> Any:
        """Return the result of a call; for a failure the status, which is all that this client reports."""
        from requests import HTTPError

        try:
            return getattr(self._client, ask.call)(*ask.args)
        except HTTPError as error:
            return {"refused": None if error.response is None else error.response.status_code}


@contextmanager
def _python(port: int) -> Iterator[Client]:
    yield _PythonClient(port)


class _NodeClient:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, ask: Ask) -> Any:
        """Return status and data of a response; the prefix `connector.` calls the object of connector `c`."""
        on, _, call = ask.call.rpartition(".")
        asked = {"connector": "c" if on else None, "call": call, "args": ask.args}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextmanager
def _node(port: int) -> Iterator[Client]:
    command = ["node", str(_installed() / "ask.js"), str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _NodeClient(process)
        finally:
            process.kill()


def _installed() -> Path:
    """Return a directory with the script and its client, installed on first use."""
    files = [NPM / name for name in ("package.json", "package-lock.json", ".npmrc", "ask.js")]
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    folder = cache_directory("tests", f"npm-{digest}")
    if not (folder / "node_modules").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, folder)
        command = ["npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(command, cwd=folder, check=True, timeout=_SECONDS, capture_output=True)
    return folder


STORIES = (
    ClientStory(
        "kafka-connect-py",
        (
            Ask("get_cluster_info"),
            Ask("list_connectors"),
            Ask("create_connector", ({"name": "c", "config": _CONFIG},)),
            Ask("create_connector", ({"name": "c", "config": _CONFIG},), "RUNNING"),
            Ask("create_connector", ({"name": "d", "config": {}},)),
            Ask("list_connectors", ("status",)),
            Ask("list_connectors", ("info",)),
            Ask("list_connectors", (None, "c.*", "running")),
            Ask("get_connector", ("c",)),
            Ask("get_connector_config", ("c",)),
            Ask("get_connector_status", ("c",)),
            Ask("list_connector_tasks", ("c",)),
            Ask("get_connector_task_status", ("c", 0)),
            Ask("update_connector", ("c", {**_CONFIG, "tasks.max": 1, "batch.size": 7})),
            Ask("restart_connector", ("c",), "RUNNING"),
            Ask("restart_connector", ("c", True), "RUNNING"),
            Ask("restart_connector", ("c", True, True), "RUNNING"),
            Ask("restart_connector_task", ("c", 0), "RUNNING"),
            Ask("pause_connector", ("c",), "RUNNING"),
            Ask("get_connector_status", ("c",), "PAUSED"),
            Ask("resume_connector", ("c",)),
            Ask("list_connector_topics", ("c",), "RUNNING"),
            Ask("reset_connector_topics", ("c",)),
            Ask("stop_connector", ("c",), "RUNNING"),
            Ask("get_connector_status", ("c",), "NONE"),
            Ask("delete_connector", ("c",)),
            Ask("get_connector", ("c",)),
            Ask("delete_connector", ("c",)),
        ),
    ),
    ClientStory(
        "kafka-connect-client",
        (
            Ask("getCluster"),
            Ask("getConnectors"),
            Ask("createConnector", ("c", _CONFIG)),
            Ask("createConnector", ("c", _CONFIG), "RUNNING"),
            Ask("getConnectors", ({"expand": "status"},)),
            Ask("getConnectors", ({"expand": "info"},)),
            Ask("connector.get"),
            Ask("connector.getConfig"),
            Ask("connector.getStatus"),
            Ask("connector.getTasks"),
            Ask("connector.getTaskStatus", (0,)),
            Ask("connector.updateConfig", ({**_CONFIG, "batch.size": "7"},)),
            Ask("connector.restart", ({"includeTasks": True},), "RUNNING"),
            Ask("connector.restartTask", (0,), "RUNNING"),
            Ask("connector.pause", (), "RUNNING"),
            Ask("connector.resume"),  # like the other calls without a body it is sent as a form, which Java refuses
            Ask("connector.resetTopics"),
            Ask("connector.getOffsets"),
            Ask("connector.alterOffsets", ([{"partition": {"filename": "x"}, "offset": {"position": 5}}],)),
            Ask("connector.resetOffsets"),
            Ask("connector.stop"),
            Ask("connector.getStatus"),
            Ask("connector.delete"),
            Ask("connector.get"),
            Ask("validateConnectorConfig", ("FileStreamSink", _CONFIG)),
        ),
    ),
)
