"""The addresses of a cluster's workers: those of the context, and those that statuses name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster, RemoteConnector


def worker_addresses(cluster: RemoteCluster, connectors: Iterable[RemoteConnector]) -> dict[str, str]:
    """Return the address of each worker by its id, HOST:PORT."""
    urls = {_worker_id(url): url for url in cluster.client.urls}
    scheme = urlsplit(cluster.client.urls[0]).scheme
    named = {each.worker_id for each in connectors} | {task.worker_id for each in connectors for task in each.tasks}
    found = {same_worker(each, urls) for each in named if each}
    return urls | {each: f"{scheme}://{each}" for each in found if each not in urls}


def same_worker(worker_id: str, known: Iterable[str] | Mapping[str, str]) -> str:
    """Return the id under which a worker is known: localhost and 127.0.0.1 are the same."""
    other = worker_id.replace("127.0.0.1:", "localhost:")
    return next((each for each in known if each.replace("127.0.0.1:", "localhost:") == other), worker_id)


def _worker_id(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
