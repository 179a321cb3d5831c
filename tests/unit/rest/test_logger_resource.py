"""Log levels over HTTP; the responses are those of Kafka Connect 4.3.1."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from hearth.foundation.log_level import levels
from hearth.rest.app import ClusterAccess
from tests.unit.rest.client import Client, error, serve

pytestmark = pytest.mark.usefixtures("restored_levels")

NO_LEVEL = error(400, "Desired 'level' parameter was not specified in request.")


def test_level_is_shown_set_and_shown_again(client: Client) -> None:
    """With the descendants; the response lists those that changed, and each shows when it was changed."""
    logging.getLogger("rest.one.two").setLevel(logging.INFO)
    path = "/admin/loggers/rest.one"
    assert client.call("GET", f"{path}.two").text == '{"level":"INFO","last_modified":null}'
    before = int(time.time() * 1000)
    for level, changed in (("debug", '["rest.one","rest.one.two"]'), ("\x01 DEBUG", "[]")):
        answer = client.call("PUT", path, {"level": level})
        assert (answer.status, answer.text) == (200, changed)
    shown = client.call("GET", f"{path}.two/").json
    assert shown["level"] == "DEBUG"
    assert before <= shown["last_modified"] <= int(time.time() * 1000)
    assert client.call("GET", "/admin/loggers").json["rest.one"] == client.call("GET", path).json
    assert levels.rules == {"rest.one": "DEBUG"}


def test_loggers_are_listed_by_name_without_those_that_are_off(client: Client) -> None:
    """Also those that inherit a level, and the root."""
    client.call("PUT", "/admin/loggers/rest.off", {"level": "OFF"})
    listed = list(client.call("GET", "/admin/loggers").json)
    assert listed == sorted(listed)
    assert {"root", "hearth.rest.answer"} <= set(listed)
    assert "rest.off" not in listed
    assert client.call("GET", "/admin/loggers/rest.off").json["level"] == "OFF"


@pytest.mark.parametrize("scope", ["worker", "WORKER", "galaxy", ""])
def test_scope_is_the_worker_unless_it_is_the_cluster(client: Client, scope: str) -> None:
    """As in Kafka Connect, an unknown scope means the worker."""
    answer = client.call("PUT", f"/admin/loggers/rest.scope?scope={scope}", {"level": "FATAL"})
    assert (answer.status, answer.text) == (200, '["rest.scope"]')


def test_setting_a_cluster_level_has_an_empty_response(client: Client) -> None:
    """KIP-976; the first of several scopes applies."""
    answer = client.call("PUT", "/admin/loggers/rest.scope?scope=Cluster&scope=worker", {"level": "TRACE"})
    assert (answer.status, answer.text) == (204, "")
    assert client.call("GET", "/admin/loggers/rest.scope").json["level"] == "TRACE"


def test_level_of_the_cluster_reaches_all_its_hosts(tmp_path: Path) -> None:
    """This host gets it like the others, through the store; a level of the worker stays local."""
    shared: list[tuple[str, str]] = []
    for client in serve(tmp_path, cluster=ClusterAccess(share_level=lambda name, level: shared.append((name, level)))):
        assert client.call("PUT", "/admin/loggers/rest.cluster?scope=cluster", {"level": "trace"}).status == 204
        assert client.call("PUT", "/admin/loggers/rest.here", {"level": "trace"}).status == 200
    assert shared == [("rest.cluster", "TRACE")]
    assert levels.rules == {"rest.here": "TRACE"}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, NO_LEVEL),
        ({"level": None}, NO_LEVEL),
        ({"Level": "INFO"}, NO_LEVEL),
        ({"level": "loud"}, error(404, "invalid log level 'loud'.")),
        ({"level": ""}, error(500, "Illegal null or empty Level name.")),
        ({"level": " "}, error(404, "invalid log level ' '.")),
        ({"level": "WARNING"}, error(404, "invalid log level 'WARNING'.")),
        ({"level": True}, error(404, "invalid log level 'true'.")),
        ({"level": 5}, error(404, "invalid log level '5'.")),
    ],
)
def test_wrong_levels_are_refused(client: Client, body: Any, says: tuple[int, str]) -> None:
    """An unknown level is not found."""
    answer = client.call("PUT", "/admin/loggers/rest.wrong", body)
    assert (answer.status, answer.text) == says
    unknown = client.call("GET", "/admin/loggers/rest.wrong")
    assert (unknown.status, unknown.text) == error(404, "Logger rest.wrong not found.")
