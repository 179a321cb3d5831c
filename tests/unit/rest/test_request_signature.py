"""Requests that workers have for each other: only what is signed with the key that all of them read."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.rest.request_signature import SignatureCheck, sign
from hearth.storage import SessionKey
from tests.unit.rest.client import Client, error, serve

KEY = b"0123456789abcdef0123456789abcdef"
BODY = '[{"a":"b"}]'
SIGNED = "w4sJz7Fw7kA3ME3hRGqTeArGK8uZfbl3MtjL+RdNXNI="
"""What Java's worker makes of that body and key with HmacSHA256."""


class Keys:
    """The key that counts at the moment."""

    def __init__(self) -> None:
        self.key: SessionKey | None = SessionKey(KEY, "HmacSHA256", 0)


@pytest.fixture
def keys() -> Keys:
    """Have one."""
    return Keys()


@pytest.fixture
def client(tmp_path: Path, keys: Keys) -> Iterator[Client]:
    """Serve a host that is not alone, with a connector."""
    for client in serve(tmp_path, signatures=SignatureCheck(lambda: keys.key, ["HmacSHA256", "HmacSHA1"])):
        assert client.create().status == 201
        yield client


def headers(signature: str = SIGNED, algorithm: str = "HmacSHA256") -> dict[str, str]:
    """Return what another worker sends along."""
    return {"X-Connect-Authorization": signature, "X-Connect-Request-Signature-Algorithm": algorithm}


def test_what_is_signed_as_in_java_is_done(client: Client) -> None:
    """The task configurations that another worker has made are stored and run."""
    answer = client.call("POST", "/connectors/c/tasks", BODY, headers=headers())
    assert (answer.status, answer.text) == (204, "")
    assert client.call("GET", "/connectors/c/tasks").json[0]["config"] == {"a": "b"}
    other = base64.b64encode(sign(KEY, "HmacSHA1", BODY.encode())).decode()
    assert client.call("POST", "/connectors/c/tasks", BODY, headers=headers(other, "HmacSHA1")).status == 204
    unknown = client.call("POST", "/connectors/zz/tasks", BODY, headers=headers())
    assert (unknown.status, unknown.text) == error(404, "Connector zz not found")


def test_a_worker_may_have_earlier_tasks_of_a_source_fenced(client: Client) -> None:
    """The body is empty, and signed as such; of a sink there is nothing to fence."""
    signed = headers(base64.b64encode(sign(KEY, "HmacSHA256", b"")).decode())
    assert client.call("PUT", "/connectors/c/fence", headers=signed).status == 204
    config = {"connector.class": "FileStreamSink", "topics": "t", "tasks.max": "1"}
    assert client.call("POST", "/connectors", {"name": "s", "config": config}).status == 201
    refused = client.call("PUT", "/connectors/s/fence", headers=signed)
    assert (refused.status, refused.text) == error(400, "Connector s is not a source connector")
    unknown = client.call("PUT", "/connectors/zz/fence", headers=signed)
    assert (unknown.status, unknown.text) == error(404, "Connector zz not found")


UNSIGNED: tuple[tuple[dict[str, str], int, str], ...] = (
    ({}, 400, "Internal request missing required signature"),
    (headers(algorithm="HmacZz"), 400, "Algorithm HmacZz not available"),
    (headers("%%"), 400, "the signature is not Base64"),
    (headers(algorithm="HmacSHA512"), 400, "does not support the 'HmacSHA512' key signing algorithm"),
    (headers("AAAA"), 403, "Internal request contained invalid signature."),
)


def test_what_is_not_is_refused(client: Client) -> None:
    """In Kafka Connect's words, and nothing changes."""
    before = client.call("GET", "/connectors/c/tasks").json
    for given, status, says in UNSIGNED:
        for method, path in (("POST", "/connectors/c/tasks"), ("PUT", "/connectors/c/fence")):
            answer = client.call(method, path, BODY, headers=given)
            assert answer.status == status
            assert says in answer.json["message"]
    assert client.call("GET", "/connectors/c/tasks").json == before


def test_a_host_that_knows_no_key_yet_says_so(client: Client, keys: Keys) -> None:
    """It is 503: the same may be right in a moment."""
    keys.key = None
    answer = client.call("POST", "/connectors/c/tasks", BODY, headers=headers())
    assert (answer.status, answer.text) == error(
        503, "This worker is still starting up and has not been able to read a session key from the config topic yet"
    )
