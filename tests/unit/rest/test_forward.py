"""Requests to a follower: forwarded, answered with the leader's response, and never in circles."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.rest.app import ClusterAccess
from hearth.rest.forward import ClusterView, Forwarder
from hearth.rest.tls_context import client_context
from tests.unit.rest.client import CONFIG, Client, error, pem, serve

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
CREATE = {"name": "c", "config": CONFIG}


class Cluster:
    """A configurable view of a cluster."""

    def __init__(self) -> None:
        self.url: str | None = None
        self.refreshed = 0
        self.fault: Exception | None = None
        self.settings: dict[str, str] = {}

    def refresh(self, timeout: float) -> None:
        """Count the call, or fail."""
        self.refreshed += 1
        if self.fault is not None:
            raise self.fault

    def tls(self) -> ssl.SSLContext:
        """Return the TLS context for https between hosts."""
        return client_context(self.settings, "listeners.https.")

    def forwarder(self) -> Forwarder:
        """Return a follower's forwarder."""
        return Forwarder(ClusterView(lambda: False, lambda: self.url, self.refresh, self.tls))


@pytest.fixture
def cluster() -> Cluster:
    """Return a cluster without a known leader."""
    return Cluster()


@pytest.fixture
def follower(tmp_path: Path, cluster: Cluster) -> Iterator[Client]:
    """Serve a follower."""
    (tmp_path / "follower").mkdir()
    yield from serve(tmp_path / "follower", cluster=ClusterAccess(cluster.forwarder()))


@pytest.fixture
def leader(tmp_path: Path, cluster: Cluster) -> Iterator[Client]:
    """Serve the leader."""
    (tmp_path / "leader").mkdir()
    for client in serve(tmp_path / "leader"):
        cluster.url = f"http://127.0.0.1:{client.ports[0]}"
        yield client


def test_a_change_is_forwarded_to_the_leader(follower: Client, leader: Client, cluster: Cluster) -> None:
    """The response is the leader's, with this host's URL in Location; a later read here shows the change."""
    created = follower.call("POST", "/connectors", CREATE)
    assert created.status == 201, created.text
    assert created.json["config"]["topic"] == "t"
    assert created.headers["location"] == f"http://127.0.0.1:{follower.ports[0]}/connectors/c"
    assert cluster.refreshed == 1
    assert leader.call("GET", "/connectors").json == ["c"]
    refused = follower.call("POST", "/connectors", CREATE)
    assert (refused.status, refused.text) == error(409, "Connector c already exists")
    assert follower.call("PUT", "/connectors/c/pause").status == 202
    restarted = follower.call("POST", "/connectors/c/restart?includeTasks=true&onlyFailed=true")
    assert (restarted.status, restarted.json["name"]) == (202, "c")
    assert follower.call("POST", "/connectors", "{", "application/json").status == 500
    assert follower.call("DELETE", "/connectors/c").status == 204
    assert leader.call("GET", "/connectors").json == []


def test_a_read_is_answered_locally(follower: Client, leader: Client, cluster: Cluster) -> None:
    """From refreshed stores; if they cannot be refreshed, from their present content."""
    leader.call("POST", "/connectors", CREATE)
    assert follower.call("GET", "/connectors").json == []
    assert cluster.refreshed == 1
    cluster.fault = TimeoutError()
    for _ in range(3):
        assert follower.call("GET", "/connectors").json == []
    assert cluster.refreshed == 2  # no refresh is awaited again for some seconds


def test_a_change_without_a_leader_is_a_conflict(follower: Client, cluster: Cluster) -> None:
    """409 with Kafka Connect's message, also if the leader has just died and nothing was sent to it."""
    for url in (None, "http://127.0.0.1:1"):
        cluster.url = url
        answer = follower.call("DELETE", "/connectors/c")
        assert (answer.status, answer.text) == error(409, NO_LEADER)


def test_a_request_is_forwarded_at_most_twice(follower: Client, cluster: Cluster) -> None:
    """Hosts that consider each other the leader respond instead of forwarding forever."""
    cluster.url = f"http://127.0.0.1:{follower.ports[0]}"
    answer = follower.call("DELETE", "/connectors/c")
    message = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
    assert (answer.status, answer.text) == error(409, message)


def test_hosts_use_https_with_the_certificates_of_their_listeners(
    tmp_path: Path, cluster: Cluster, identity: Path, follower: Client
) -> None:
    """The leader may request a certificate; a follower that does not trust it sends nothing."""
    asks = {"listeners": "https://127.0.0.1:0", "listeners.https.ssl.client.auth": "required", **pem(identity)}
    for leader in serve(tmp_path, asks):
        cluster.url = f"https://127.0.0.1:{leader.ports[0]}"
        cluster.settings = {**pem(identity), "listeners.https.ssl.endpoint.identification.algorithm": ""}
        assert follower.call("POST", "/connectors", CREATE).status == 201
        cluster.settings = pem(identity)  # its certificate is for another name
        answer = follower.call("DELETE", "/connectors/c")
        assert answer.status == 500
        assert "IO Error trying to forward REST request: " in answer.text
        assert "certificate verify failed" in answer.text
