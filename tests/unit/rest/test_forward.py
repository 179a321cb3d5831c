"""Requests to a host that does not lead: passed on, answered as the leading host answers, and never in circles."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.rest.forward import ClusterView, Forwarder
from hearth.rest.tls_context import client_context
from tests.unit.rest.client import CONFIG, Client, error, pem, serve

NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
CREATE = {"name": "c", "config": CONFIG}


class Cluster:
    """What a host knows of its cluster, as a test has it."""

    def __init__(self) -> None:
        self.url: str | None = None
        self.refreshed = 0
        self.fault: Exception | None = None
        self.settings: dict[str, str] = {}

    def refresh(self, timeout: float) -> None:
        """Count, or fail."""
        self.refreshed += 1
        if self.fault is not None:
            raise self.fault

    def tls(self) -> ssl.SSLContext:
        """Return how this host speaks https."""
        return client_context(self.settings, "listeners.https.")

    def forwarder(self) -> Forwarder:
        """Return a forwarder of a host that follows."""
        return Forwarder(ClusterView(lambda: False, lambda: self.url, self.refresh, self.tls))


@pytest.fixture
def cluster() -> Cluster:
    """Make one in which nobody is known to lead."""
    return Cluster()


@pytest.fixture
def follower(tmp_path: Path, cluster: Cluster) -> Iterator[Client]:
    """Serve a host that follows."""
    (tmp_path / "follower").mkdir()
    yield from serve(tmp_path / "follower", forwarder=cluster.forwarder())


@pytest.fixture
def leader(tmp_path: Path, cluster: Cluster) -> Iterator[Client]:
    """Serve the host that leads."""
    (tmp_path / "leader").mkdir()
    for client in serve(tmp_path / "leader"):
        cluster.url = f"http://127.0.0.1:{client.ports[0]}"
        yield client


def test_what_changes_something_is_answered_by_who_leads(follower: Client, leader: Client, cluster: Cluster) -> None:
    """With its words and codes, the address of what was created being here; and what was written is read here next."""
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


def test_what_is_read_comes_from_here(follower: Client, leader: Client, cluster: Cluster) -> None:
    """From stores that were brought up to date first; while that is not possible, from what there is."""
    leader.call("POST", "/connectors", CREATE)
    assert follower.call("GET", "/connectors").json == []
    assert cluster.refreshed == 1
    cluster.fault = TimeoutError()
    for _ in range(3):
        assert follower.call("GET", "/connectors").json == []
    assert cluster.refreshed == 2  # and is not waited for again for some seconds


def test_nobody_leads_for_a_moment(follower: Client, cluster: Cluster) -> None:
    """It is 409 with Kafka Connect's words, also where the leading host has just died: nothing was sent to it."""
    for url in (None, "http://127.0.0.1:1"):
        cluster.url = url
        answer = follower.call("DELETE", "/connectors/c")
        assert (answer.status, answer.text) == error(409, NO_LEADER)


def test_a_request_takes_two_steps_at_most(follower: Client, cluster: Cluster) -> None:
    """Hosts that take each other for the leader answer, and do not ask each other for ever."""
    cluster.url = f"http://127.0.0.1:{follower.ports[0]}"
    answer = follower.call("DELETE", "/connectors/c")
    told = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
    assert (answer.status, answer.text) == error(409, told)


def test_hosts_speak_https_with_the_certificates_of_their_listeners(
    tmp_path: Path, cluster: Cluster, identity: Path, follower: Client
) -> None:
    """The leading host may want to see one as well; who does not trust it sends it nothing."""
    asks = {"listeners": "https://127.0.0.1:0", "listeners.https.ssl.client.auth": "required", **pem(identity)}
    for leader in serve(tmp_path, asks):
        cluster.url = f"https://127.0.0.1:{leader.ports[0]}"
        cluster.settings = {**pem(identity), "listeners.https.ssl.endpoint.identification.algorithm": ""}
        assert follower.call("POST", "/connectors", CREATE).status == 201
        cluster.settings = pem(identity)  # whose certificate is for another name
        answer = follower.call("DELETE", "/connectors/c")
        assert answer.status == 500
        assert "IO Error trying to forward REST request: " in answer.text
        assert "certificate verify failed" in answer.text
