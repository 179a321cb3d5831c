"""The endpoint of log lines."""

from __future__ import annotations

import logging

from hearth.foundation.log_context import about, label_of
from tests.unit.rest.client import Client

log = logging.getLogger("org.example")


def test_lines_are_answered_once_to_whoever_goes_on(client: Client) -> None:
    """By connector and level; a cursor of another process means nothing."""
    with about(label_of("log-resource", 0)):
        log.error("first")
    found = client.call("GET", "/hearth/logs?connector=log-resource").json
    assert [each["message"] for each in found["lines"]] == ["first"]
    with about(label_of("log-resource", 0)):
        log.warning("second")
    path = f"/hearth/logs?connector=log-resource&after={found['next']}"
    assert [each["message"] for each in client.call("GET", path).json["lines"]] == ["second"]
    assert client.call("GET", f"{path}&level=error").json["lines"] == []
    by_name = client.call("GET", "/hearth/connectors/logs?name=log-resource").json
    assert [each["message"] for each in by_name["lines"]] == ["first", "second"]
    other = client.call("GET", "/hearth/logs?connector=log-resource&after=x-99999").json["lines"]
    assert [each["message"] for each in other] == ["first", "second"]


def test_unknown_levels_are_refused(client: Client) -> None:
    """With those that there are."""
    answer = client.call("GET", "/hearth/logs?level=loud")
    assert (answer.status, "LOUD" in answer.json["message"]) == (400, True)
