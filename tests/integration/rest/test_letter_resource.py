"""The endpoints of dead letters, on a real queue."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.integration.kafka.test_letter_replay import letter, values
from tests.peer.topic import Record, Topics
from tests.unit.herder.catalogue import SINK
from tests.unit.rest.client import Client, serve
from tests.unit.rest.test_openapi import fits

LETTERS = "/hearth/connectors/dead-letters"


@pytest.fixture
def client(tmp_path: Path, broker: KafkaBroker) -> Iterator[Client]:
    """Serve with a broker."""
    yield from serve(tmp_path, {"bootstrap.servers": broker.bootstrap_servers})


@pytest.fixture
def sink(client: Client, topics: Topics, request: pytest.FixtureRequest) -> str:
    """Provide a sink with two letters, one of bytes that are no text."""
    name = f"letters-{abs(hash(request.node.name))}"
    topics.create(name)
    topics.create(f"{name}-dead")
    context = letter(name, 7, "VALUE_CONVERTER").headers
    first = Record(b"k", b"\xff\x00", (("own", b"h"), *context), timestamp=1)
    topics.produce(f"{name}-dead", [first, letter(name, 8)])
    config = {"connector.class": SINK, "topics": name, "errors.deadletterqueue.topic.name": f"{name}-dead"}
    assert client.call("POST", "/connectors", {"name": name, "config": config}).status == 201
    return name


def test_letters_are_shown_with_bytes_and_headers(client: Client, sink: str) -> None:
    """Text as text, other bytes in base64; the newest first."""
    found = client.call("GET", f"{LETTERS}?name={sink}").json
    assert (found["topic"], found["total"], len(found["groups"])) == (f"{sink}-dead", 2, 2)
    document = client.call("GET", "/openapi.json").json
    assert fits(found, document["components"]["schemas"]["DeadLetters"], document)
    newest, oldest = found["letters"]
    assert newest["value"] == {"size": 1, "text": "8"}
    assert oldest["value"] == {"size": 2, "base64": base64.b64encode(b"\xff\x00").decode()}
    assert oldest["headers"] == [{"name": "own", "size": 1, "text": "h"}]
    assert (oldest["context"]["topic"], oldest["context"]["offset"]) == (sink, 7)
    found = client.call("GET", f"{LETTERS}?name={sink}&text=VALUE_&limit=1").json
    assert [each["offset"] for each in found["letters"]] == [0]


def test_letters_are_replayed_once(client: Client, sink: str, broker: KafkaBroker) -> None:
    """One by its place, then the rest; a dry run sends nothing."""
    replay = f"{LETTERS}/replay?name={sink}"
    assert client.call("POST", replay, {"dry_run": True}).json["replayed"] == 2
    assert client.call("POST", replay, {"letters": [[0, 1]]}).json["replayed"] == 1
    assert values(broker, sink) == [b"8"]
    document = client.call("GET", "/openapi.json").json
    assert fits(
        client.call("POST", replay, {"dry_run": True}).json, document["components"]["schemas"]["Replay"], document
    )
    assert client.call("POST", replay, {"max": 10}).json["replayed"] == 1
    assert client.call("POST", replay, {}).json["replayed"] == 0
    assert values(broker, sink) == [b"8", b"\xff\x00"]


def test_wrong_requests_are_refused(client: Client, sink: str) -> None:
    """With the member or the key that is wrong; a page of another origin cannot replay."""
    client.create("source")
    assert client.call("GET", f"{LETTERS}?name=source").status == 404
    assert "errors.deadletterqueue.topic.name" in client.call("GET", f"{LETTERS}?name=source").text
    assert client.call("GET", f"{LETTERS}?name=nobody").status == 404
    for query in ("limit=0", "limit=x"):
        assert client.call("GET", f"{LETTERS}?name={sink}&{query}").status == 400, query
    replay = f"{LETTERS}/replay?name={sink}"
    wrong: list[dict[str, object]] = [{"max": 0}, {"max": "x"}, {"letters": [1]}, {"letter": []}, {"dry_run": 1}]
    for body in wrong:
        assert client.call("POST", replay, body).status == 400, body
    assert client.call("POST", replay, {}, headers={"Sec-Fetch-Site": "cross-site"}).status == 403
