"""Worker configurations over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.rest.client import Client, error, serve

STRINGS = "org.apache.kafka.connect.storage.StringConverter"
TEXTS = {"key.converter": STRINGS, "value.converter": STRINGS}
PATH = "/worker-configurations"


@pytest.fixture
def keeping(tmp_path: Path) -> Iterator[Client]:
    """Serve a worker with a folder for them."""
    (tmp_path / "kept").mkdir()
    yield from serve(tmp_path, {"worker.configuration.path": str(tmp_path / "kept")})


def test_a_worker_configuration_is_created_listed_shown_and_deleted(keeping: Client) -> None:
    """It has a name, a description and settings; the default always exists."""
    body = {"name": " texts ", "description": "plain", "config": {**TEXTS, "offset.flush.interval.ms": 500}}
    made = {"name": "texts", "description": "plain", "config": {**TEXTS, "offset.flush.interval.ms": "500"}}
    answer = keeping.call("POST", PATH, body)
    assert (answer.status, answer.json) == (201, made)
    assert answer.headers["location"].endswith("/worker-configurations/texts")
    listed = keeping.call("GET", PATH).json
    assert [each["name"] for each in listed] == ["default", "texts"]
    assert listed[1] == {"name": "texts", "description": "plain"}
    assert keeping.call("GET", PATH + "/texts").json == made
    assert keeping.call("GET", PATH + "/default").json["config"] == TEXTS
    assert keeping.create(**{"worker.configuration": "texts"}).status == 201
    assert keeping.call("DELETE", PATH + "/texts").status == 409
    keeping.call("DELETE", "/connectors/c")
    answer = keeping.call("DELETE", PATH + "/texts")
    assert (answer.status, answer.text) == (204, "")
    answer = keeping.call("GET", PATH + "/texts")
    missing = error(404, "worker configuration 'texts' not found, there are: default")
    assert (answer.status, answer.text) == missing
    answer = keeping.call("DELETE", PATH + "/texts")
    assert (answer.status, answer.text) == missing


REFUSED: tuple[tuple[Any, int, str], ...] = (
    ({"name": "default", "config": TEXTS}, 409, "worker configuration 'default' already exists"),
    ({"name": "../x", "config": TEXTS}, 400, "Invalid value ../x for configuration name: a name"),
    ({"config": TEXTS}, 400, "Invalid value  for configuration name: a name has at most 128 characters"),
    ({"name": "x", "config": {**TEXTS, "group.id": "g"}}, 400, "group.id is not allowed: only the worker may set it"),
    ({"name": "x", "config": {**TEXTS, "group.id": None}}, 400, "group.id is not allowed: it has no value"),
    ({"name": "x"}, 400, 'Missing required configuration "key.converter" which has no default value.'),
    ({"name": "x", "config": []}, 400, "Cannot deserialize value of type `java.util.LinkedHashMap<"),
    ({"name": "x", "zz": 1}, 400, 'Unrecognized field "zz"'),
    ({"name": {}, "config": TEXTS}, 400, "Cannot deserialize value of type `java.lang.String` from Object"),
    ("{", 400, "REDACTED"),
)


def test_an_invalid_worker_configuration_is_rejected(keeping: Client) -> None:
    """Always as a client error; nothing is stored."""
    for body, status, says in REFUSED:
        answer = keeping.call("POST", PATH, body)
        assert (answer.status, answer.json["error_code"]) == (status, status), body
        assert says in answer.json["message"]
    assert [each["name"] for each in keeping.call("GET", PATH).json] == ["default"]


def test_possible_passwords_are_masked_if_enabled(tmp_path: Path) -> None:
    """In every response, but not in the file; variables and values of declared keys are shown."""
    (tmp_path / "kept").mkdir()
    config = {
        **TEXTS,
        "producer.acks": "1",
        "offset.flush.interval.ms": "500",
        "value.converter.basic.auth.user.info": "me:s3cret",
        "value.converter.token": "${env:TOKEN}",
        "header.converter.plugin.version": "4.3.1",
    }
    shown = {**config, "value.converter.basic.auth.user.info": "[hidden]"}
    worker = {"worker.configuration.path": str(tmp_path / "kept"), "rest.mask.passwords": "true"}
    for client in serve(tmp_path, worker):
        assert client.call("POST", PATH, {"name": "x", "config": config}).json["config"] == shown
        assert client.call("GET", PATH + "/x").json["config"] == shown
    assert "s3cret" in (tmp_path / "kept" / "x.properties").read_text()


def test_a_worker_without_a_folder_creates_no_configuration(client: Client) -> None:
    """The error names the missing key; the default exists."""
    answer = client.call("POST", PATH, {"name": "x", "config": TEXTS})
    assert (answer.status, answer.text) == error(
        400, "the worker has no worker.configuration.path, so worker configurations are not kept"
    )
    assert [each["name"] for each in client.call("GET", PATH).json] == ["default"]
