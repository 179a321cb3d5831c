"""Each operation of a cluster, over the real REST API."""

from __future__ import annotations

import pytest

from hearth.client.remote_cluster import RemoteCluster
from hearth.storage import State, TaskStatus
from hearth_api import NotFoundError
from tests.unit.rest.client import CONFIG, Client


def test_connectors_have_their_status_and_configuration(served: Client, cluster: RemoteCluster) -> None:
    """In one request."""
    served.create("c")
    served.bench.statuses.put_task(TaskStatus("c", 0, State.FAILED, "w", 9, "the reason"))
    (found,) = cluster.connectors().values()
    assert (found.name, found.type, found.state, found.worst) == ("c", "source", "RUNNING", "FAILED")
    assert found.first_trace == "the reason"
    assert found.config["topic"] == "t"
    assert found.to_json()["tasks"][0]["trace"] == "the reason"
    assert cluster.names() == ["c"]


@pytest.mark.parametrize("name", ["a/b", "..", "50%", "a b", "ü", "?x=y"])
def test_any_name_reaches_its_connector(served: Client, cluster: RemoteCluster, name: str) -> None:
    """Also one that cannot be part of a path."""
    cluster.create(name, {**CONFIG, "name": name}, "PAUSED")
    assert cluster.config(name)["name"] == name
    cluster.set_state(name, "RUNNING")
    cluster.replace(name, {**CONFIG, "name": name, "topic": "other"})
    assert cluster.config(name)["topic"] == "other"
    cluster.set_owner(name, "me")
    assert cluster.owners() == {name: "me"}
    assert cluster.restart(name, "all") is not None
    assert cluster.restart(name, "none") is None
    cluster.delete(name)
    assert (cluster.names(), cluster.owners()) == ([], {})


def test_the_server_and_its_health(cluster: RemoteCluster) -> None:
    """As root and health resource show them."""
    assert cluster.server()["version"] == "4.3.1"
    assert cluster.health() == "healthy"


def test_unknown_connectors_are_not_found(cluster: RemoteCluster) -> None:
    """With the worker's message."""
    with pytest.raises(NotFoundError, match="Connector nosuch not found"):
        cluster.config("nosuch")
    with pytest.raises(NotFoundError):
        cluster.set_owner("nosuch", "me")
