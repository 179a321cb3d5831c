"""The stream of states over HTTP."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hearth.rest import state_feed
from hearth.rest.event_resource import shortened
from hearth.storage import State
from tests.unit.rest.client import Client, serve


@contextmanager
def stream(client: Client) -> Iterator[http.client.HTTPResponse]:
    """Open the stream."""
    connection = http.client.HTTPConnection("127.0.0.1", client.ports[0], timeout=10)
    connection.request("GET", "/hearth/events", headers={"Accept": "text/event-stream"})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def event(response: http.client.HTTPResponse) -> tuple[str, Any]:
    """Return kind and data of the next event."""
    lines = list(iter(lambda: response.readline().decode().rstrip("\n"), ""))
    found = dict(line.split(": ", 1) for line in lines)
    return found["event"], json.loads(found["data"])


def test_stream_has_the_states_and_their_changes(client: Client) -> None:
    """A trace comes as its first line."""
    client.create("a")
    with stream(client) as response:
        assert (response.status, response.getheader("content-type")) == (200, "text/event-stream; charset=utf-8")
        kind, found = event(response)
        assert (kind, found["connectors"]["a"]["connector"]["state"]) == ("all", "RUNNING")
        spark = client.bench.spark
        spark.report(spark.newest("a", 0), State.FAILED, "Error: no\n\tat here")
        kind, found = event(response)
        assert (kind, found["removed"]) == ("changes", [])
        task = found["connectors"]["a"]["tasks"][0]
        assert (task["state"], task["error"]) == ("FAILED", "Error: no")
        client.call("DELETE", "/connectors/a")
        assert event(response) == ("changes", {"connectors": {}, "removed": ["a"]})


def test_states_are_there_without_a_stream(client: Client) -> None:
    """In the same form, for a page behind a proxy that holds streams back."""
    client.create("a")
    with stream(client) as response:
        _, found = event(response)
    assert client.call("GET", "/hearth/states").json["connectors"] == found["connectors"]


def test_head_opens_no_stream(client: Client) -> None:
    """Its response ends."""
    assert client.call("HEAD", "/hearth/events").status == 200


def test_listeners_beyond_the_limit_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the request that answers at once."""
    monkeypatch.setattr(state_feed, "MOST_LISTENERS", 1)
    with stream(client) as response:
        event(response)
        answer = client.call("GET", "/hearth/events")
        assert answer.status == 503
        assert "/connectors?expand=status" in answer.json["message"]


def test_a_stop_does_not_wait_for_open_streams(tmp_path: Path) -> None:
    """Each ends in order."""
    running = serve(tmp_path)
    client = next(running)
    with stream(client) as one, stream(client) as other:
        event(one)
        event(other)
        began = time.monotonic()
        assert next(running, None) is None
        assert one.read() == other.read() == b""
    assert time.monotonic() - began < 5


def test_shortened_status_has_no_trace() -> None:
    """Whatever has none stays as it is."""
    running = {"state": "RUNNING", "worker_id": "w"}
    failed = {"id": 0, "state": "FAILED", "worker_id": "w", "trace": "a\nb"}
    found = shortened({"name": "n", "connector": running, "tasks": [failed], "type": "sink"})
    short = {"id": 0, "state": "FAILED", "worker_id": "w", "error": "a"}
    assert found == {"name": "n", "connector": running, "tasks": [short], "type": "sink"}
