"""The owners of connectors over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.rest.client import Client

ONE = "/hearth/connectors/owner?name=c"


def test_an_owner_is_set_listed_and_removed(client: Client) -> None:
    """It outlives a change of the configuration, and goes with the connector."""
    assert client.call("PUT", ONE, {"owner": "team"}).status == 404
    client.create("c")
    assert client.call("GET", "/hearth/owners").json == {}
    assert client.call("PUT", ONE, {"owner": "team"}).status == 204
    client.call("PATCH", "/connectors/c/config", {"topic": "other"})
    assert client.call("GET", "/hearth/owners").json == {"c": "team"}
    assert client.call("PUT", ONE, {"owner": None}).status == 204
    assert client.call("GET", "/hearth/owners").json == {}
    client.call("PUT", ONE, {"owner": "team"})
    client.call("DELETE", "/connectors/c")
    client.create("c")
    assert client.call("GET", "/hearth/owners").json == {}


@pytest.mark.parametrize("body", [{}, {"owner": ""}, {"owner": " "}, {"owner": "x" * 201}])
def test_an_owner_is_a_short_text(client: Client, body: dict[str, Any]) -> None:
    """Anything else is refused."""
    client.create("c")
    assert client.call("PUT", ONE, body).status == 400
