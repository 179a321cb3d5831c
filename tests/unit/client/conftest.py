"""A cluster for the client's tests: the real REST API over stand-in plugins and a fake Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.client.client_context import ClientContext
from hearth.client.remote_cluster import RemoteCluster
from hearth.client.rest_client import RestClient
from tests.unit.rest.client import Client, serve


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Client]:
    """Provide the server."""
    yield from serve(tmp_path)


@pytest.fixture
def cluster(served: Client) -> Iterator[RemoteCluster]:
    """Provide the client of that server."""
    client = RestClient(ClientContext((f"http://127.0.0.1:{served.ports[0]}",)), timeout=30)
    yield RemoteCluster(client)
    client.close()
