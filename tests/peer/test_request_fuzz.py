"""Requests generated from the API's own OpenAPI document, sent to both sides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from hearth.broker import KafkaBroker
from tests.peer.cases import WORKERS
from tests.peer.hearth_connect import HearthConnect
from tests.peer.record import java_side
from tests.peer.side import Side
from tests.peer.topic import Topics
from tests.peer.worker import Worker
from tests.unit.rest.test_document_fuzz import requests_of

pytestmark = [pytest.mark.long, pytest.mark.slow]


@pytest.fixture(scope="module")
def workers(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Worker, Worker]]:
    """Provide a Hearth and a Java Connect without connectors."""
    folder = tmp_path_factory.mktemp("hearth")
    with Side(HearthConnect, folder, Topics(broker.bootstrap_servers), WORKERS) as hearth, java_side() as java:
        yield hearth.worker("json"), java.worker("json")


def javas(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document without Hearth's own endpoints."""
    paths = {path: each for path, each in document["paths"].items() if not path.startswith("/worker-configurations")}
    return {**document, "paths": paths}


def test_random_requests_have_javas_status(workers: tuple[Worker, Worker]) -> None:
    """Both respond with the same status, unless Java responds with 500."""
    hearth, java = workers

    @settings(suppress_health_check=list(HealthCheck))
    @given(requests_of(javas(hearth.rest.call("GET", "/openapi.json").json)))
    def ask(case: Any) -> None:
        found = case.call(base_url=f"http://127.0.0.1:{hearth.port}", timeout=100)
        expected = case.call(base_url=f"http://127.0.0.1:{java.port}", timeout=100)
        assert found.status_code < 500 or expected.status_code >= 500, (found.text, expected.text)
        assert found.status_code == expected.status_code or expected.status_code == 500, (found.text, expected.text)

    ask()
    assert hearth.rest.call("GET", "/health").status == 200
