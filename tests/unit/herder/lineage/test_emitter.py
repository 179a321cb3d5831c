"""Events reach a receiver as OpenLineage's client sends them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.herder.lineage.emitter import LineageEmitter, nested, open_client
from hearth.herder.status import StatusBoard
from hearth.storage import State, TargetState
from hearth.storage.memory import MemoryConfigStore, MemoryStatusStore
from hearth_api import ConfigError
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.catalogue import SINK, WORKER, directory


class Receiver(ThreadingHTTPServer):
    """An HTTP server that keeps the events it was sent, with their Authorization."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.keys: set[str | None] = set()
        received = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.events.append(json.loads(body))
                received.keys.add(self.headers["Authorization"])
                self.send_response(201)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def kinds(self) -> list[str]:
        """Return the types of the events."""
        return [each["eventType"] for each in self.events]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Provide a receiver."""
    with Receiver() as server:
        threading.Thread(target=server.serve_forever).start()
        yield server
        server.shutdown()


class Lineage:
    """An emitter over stores of its own, with one sink."""

    def __init__(self, folder: Path, **keys: str) -> None:
        self.configs, self.statuses = MemoryConfigStore(), MemoryStatusStore()
        worker = WorkerConfig({**WORKER, "bootstrap.servers": "b1:9092,b2:9092", **keys})
        plugins = directory(folder / "environments")
        self.emitter = LineageEmitter(worker, self.configs, self.statuses, plugins, open_client(worker))
        self.board = StatusBoard(self.statuses, "w:8083", self.emitter.changed)
        self.configs.put_connector("s", {"connector.class": SINK, "topics": "t", "file": "/out.txt"})

    def report(self, state: State, trace: str | None = None) -> None:
        """Report the states of the sink and its task."""
        self.board.connector("s", State.RUNNING)
        self.board.task("s", 0, state, trace)


def test_runs_are_sent_over_http(tmp_path: Path, receiver: Receiver) -> None:
    """With job, datasets and the error, as the client's own keys say."""
    http = {
        "type": "http",
        "url": f"http://127.0.0.1:{receiver.server_port}",
        "auth.type": "api_key",
        "auth.apiKey": "k",
    }
    keys = {f"openlineage.transport.{name}": value for name, value in http.items()}
    lineage = Lineage(tmp_path, **keys, **{"openlineage.namespace": "shop"})
    lineage.report(State.RUNNING)
    assert eventually(lambda: receiver.kinds[-1:] == ["RUNNING"], TIMEOUT)
    lineage.report(State.FAILED, "E: it broke\n  at line 1")
    assert eventually(lambda: receiver.kinds[-1:] == ["FAIL"], TIMEOUT)
    lineage.report(State.RUNNING)
    assert eventually(lambda: receiver.kinds[-1:] == ["RUNNING"], TIMEOUT)
    lineage.configs.put_target("s", TargetState.STOPPED)
    lineage.board.connector("s", State.STOPPED)
    lineage.emitter.close()
    assert receiver.kinds == ["START", "RUNNING", "FAIL", "START", "RUNNING", "COMPLETE"]
    failed = receiver.events[2]
    assert (failed["job"]["namespace"], failed["job"]["name"]) == ("shop", "s")
    assert failed["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert failed["run"]["facets"]["errorMessage"]["message"] == "E: it broke"
    assert [(each["namespace"], each["name"]) for each in failed["inputs"]] == [("kafka://b1:9092", "t")]
    assert [(each["namespace"], each["name"]) for each in failed["outputs"]] == [("file", "/out.txt")]
    assert [len({each["run"]["runId"] for each in part}) for part in (receiver.events[:3], receiver.events)] == [1, 2]
    assert receiver.keys == {"Bearer k"}


def test_runs_are_written_to_a_file_and_complete_with_the_worker(tmp_path: Path) -> None:
    """A line for each event."""
    file = tmp_path / "events.jsonl"
    transport = {"type": "file", "log_file_path": str(file), "append": "true"}
    lineage = Lineage(tmp_path, **{f"openlineage.transport.{name}": value for name, value in transport.items()})
    lineage.report(State.RUNNING)
    lineage.emitter.close()
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["eventType"] for each in events] == ["START", "RUNNING", "COMPLETE"]
    assert events[0]["job"]["namespace"] == "hearth"


def test_a_receiver_that_is_away_holds_nothing_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The events are left out, with one warning."""
    away = {"type": "http", "url": "http://127.0.0.1:9", "retry.total": "0"}
    lineage = Lineage(tmp_path, **{f"openlineage.transport.{name}": value for name, value in away.items()})
    lineage.report(State.RUNNING)
    lineage.emitter.close()
    warnings = [each for each in caplog.records if each.name.startswith("hearth") and each.levelname == "WARNING"]
    assert ["lineage of s is not taken" in each.getMessage() for each in warnings] == [True]


def test_keys_are_those_of_the_client() -> None:
    """Parts of a name are objects; what it refuses is told with the key."""
    given = {
        "openlineage.transport.type": "http",
        "openlineage.transport.retry.total": "3",
        "openlineage.namespace": "n",
    }
    assert nested({**given, "openlineage.transport.verify": "False", "group.id": "g"}) == {
        "transport": {"type": "http", "retry": {"total": 3}, "verify": False}
    }
    for keys in ({"openlineage.transport.typ": "http"}, {**given, "openlineage.transport.type": "pigeon"}):
        with pytest.raises(ConfigError, match=r"openlineage\."):
            open_client(WorkerConfig({**WORKER, **keys}))
