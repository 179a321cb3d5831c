"""Routes that only Hearth has stay out of the way of Kafka Connect's."""

from __future__ import annotations

import pytest

from tests.unit.rest.client import Client
from tests.unit.rest.test_openapi import KAFKAS, OWN, operations


def test_own_routes_are_not_below_kafkas(client: Client) -> None:
    """A connector's name is never taken for one of them."""
    found = operations(client.call("GET", "/openapi.json").json)
    paths = {path for name, (_, path, _) in found.items() if name in OWN}
    assert not any(path.startswith("/connectors") for path in paths)
    assert OWN.isdisjoint(KAFKAS)


@pytest.mark.parametrize("name", ["report", "explain", "status", "events", "owner"])
def test_a_connector_may_be_called_like_a_route(client: Client, name: str) -> None:
    """Its report has the name as a parameter."""
    assert client.create(name).status == 201
    answer = client.call("GET", f"/hearth/connectors/report?name={name}")
    assert (answer.status, answer.json["name"]) == (200, name)
    assert client.call("GET", f"/hearth/connectors/explain?name={name}").json["name"] == name
