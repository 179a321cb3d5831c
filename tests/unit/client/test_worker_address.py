"""The addresses of workers."""

from __future__ import annotations

from typing import Any, cast

from hearth.client.client_context import ClientContext
from hearth.client.remote_cluster import RemoteCluster, RemoteConnector, RemoteTask
from hearth.client.rest_client import RestClient
from hearth.client.worker_address import same_worker, worker_addresses


def cluster(*urls: str) -> RemoteCluster:
    """Return a cluster of these addresses, which is asked nothing."""
    return RemoteCluster(RestClient(ClientContext(urls=urls)))


def connector(worker: str, *tasks: str) -> RemoteConnector:
    """Return a connector on a worker, with tasks on others."""
    found = tuple(RemoteTask(number, "RUNNING", each) for number, each in enumerate(tasks))
    return RemoteConnector("c", "source", "RUNNING", worker, cast("Any", {}), found)


def test_workers_are_those_of_the_context_and_of_the_statuses() -> None:
    """Others are reached as the first one is; an id that is missing is none."""
    found = worker_addresses(cluster("https://a:1", "https://b"), [connector("a:1", "c:3", ""), connector("")])
    assert found == {"a:1": "https://a:1", "b:443": "https://b", "c:3": "https://c:3"}


def test_this_machine_has_one_worker_for_each_port() -> None:
    """Whatever it is called."""
    found = worker_addresses(cluster("http://localhost:1"), [connector("127.0.0.1:1", "127.0.0.1:2")])
    assert found == {"localhost:1": "http://localhost:1", "127.0.0.1:2": "http://127.0.0.1:2"}
    assert same_worker("127.0.0.1:1", found) == "localhost:1"
