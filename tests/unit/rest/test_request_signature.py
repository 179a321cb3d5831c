"""Internal requests between workers: only those signed with the session key are accepted."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.rest.app import ClusterAccess
from hearth.rest.request_signature import SignatureCheck, sign
from hearth.storage import SessionKey
from tests.unit.rest.client import Client, error, serve

KEY = b"0123456789abcdef0123456789abcdef"
BODY = '[{"a":"b"}]'
SIGNED = "w4sJz7Fw7kA3ME3hRGqTeArGK8uZfbl3MtjL+RdNXNI="
"""The HmacSHA256 signature of a Java worker for that body and key."""


class Keys:
    """The present session key."""

    def __init__(self) -> None:
        self.key: SessionKey | None = SessionKey(KEY, "HmacSHA256", 0)


@pytest.fixture
def keys() -> Keys:
    """Return the key."""
    return Keys()


@pytest.fixture
def client(tmp_path: Path, keys: Keys) -> Iterator[Client]:
    """Serve a distributed worker with a connector."""
    for client in serve(
        tmp_path, cluster=ClusterAccess(signatures=SignatureCheck(lambda: keys.key, ["HmacSHA256", "HmacSHA1"]))
    ):
        assert client.create().status == 201
        yield client


def headers(signature: str = SIGNED, algorithm: str = "HmacSHA256") -> dict[str, str]:
    """Return the headers of another worker."""
    return {"X-Connect-Authorization": signature, "X-Connect-Request-Signature-Algorithm": algorithm}


def test_a_request_signed_as_in_java_is_carried_out(client: Client) -> None:
    """The task configurations of another worker are stored and run."""
    answer = client.call("POST", "/connectors/c/tasks", BODY, headers=headers())
    assert (answer.status, answer.text) == (204, "")
    assert client.call("GET", "/connectors/c/tasks").json[0]["config"] == {"a": "b"}
    other = base64.b64encode(sign(KEY, "HmacSHA1", BODY.encode())).decode()
    assert client.call("POST", "/connectors/c/tasks", BODY, headers=headers(other, "HmacSHA1")).status == 204
    unknown = client.call("POST", "/connectors/zz/tasks", BODY, headers=headers())
    assert (unknown.status, unknown.text) == error(404, "Connector zz not found")


def test_a_worker_may_request_the_fencing_of_a_source(client: Client) -> None:
    """The empty body is signed as such; a sink has nothing to fence."""
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


def test_a_request_without_a_valid_signature_is_rejected(client: Client) -> None:
    """With Kafka Connect's message, and nothing changes."""
    before = client.call("GET", "/connectors/c/tasks").json
    for given, status, says in UNSIGNED:
        for method, path in (("POST", "/connectors/c/tasks"), ("PUT", "/connectors/c/fence")):
            answer = client.call(method, path, BODY, headers=given)
            assert answer.status == status
            assert says in answer.json["message"]
    assert client.call("GET", "/connectors/c/tasks").json == before


def test_a_host_without_a_session_key_responds_with_503(client: Client, keys: Keys) -> None:
    """The same request may succeed a moment later."""
    keys.key = None
    answer = client.call("POST", "/connectors/c/tasks", BODY, headers=headers())
    assert (answer.status, answer.text) == error(
        503, "This worker is still starting up and has not been able to read a session key from the config topic yet"
    )
