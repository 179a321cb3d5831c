"""The endpoint of metrics: its names, and that answers are kept for a moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from hearth.metric.sensor import Measurement, Sensor, Tags
from hearth.rest.metrics_resource import KEPT_SECONDS, MetricsResource, chosen_profiles
from hearth_api import ConfigError
from tests.unit.metric.test_task_metric import Clock

SENSOR = Sensor("connect-worker-metrics", "connector-count", "Connectors.")


class Host:
    """A host whose number of connectors is how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def collect(self) -> list[Measurement]:
        """Return a value."""
        self.asked += 1
        return [(SENSOR, Tags(), self.asked)]


def get(resource: MetricsResource, query: str = "") -> str:
    """Return the answer to a request."""
    scope: dict[str, Any] = {"type": "http", "method": "GET", "path": "/metrics", "headers": []}
    answer = asyncio.run(resource.show(Request({**scope, "query_string": query.encode()})))
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return bytes(answer.body).decode().splitlines()[-1]


def test_names_are_those_of_the_worker_or_of_the_request() -> None:
    """`metrics.names` holds where a request has none."""
    resource = MetricsResource(Host().collect, ["strimzi"])
    assert get(resource).startswith("kafka_connect_worker_connector_count ")
    assert get(resource, "names=debezium").startswith("kafka_connect_worker_metrics_connector_count ")


def test_an_answer_is_given_again_for_a_second() -> None:
    """Several scrapers cost as much as one; other names are another answer."""
    clock, host = Clock(), Host()
    clock.now = 100.0
    resource = MetricsResource(host.collect, clock=clock)
    assert get(resource) == get(resource)
    assert host.asked == 1
    get(resource, "names=strimzi")
    assert host.asked == 2
    clock.now += KEPT_SECONDS
    get(resource, "names=strimzi")
    assert host.asked == 3


def test_each_name_counts_once() -> None:
    """Spaces do not matter."""
    assert chosen_profiles(["reporter", " strimzi", "reporter"]) == ("reporter", "strimzi")


@pytest.mark.parametrize("given", [[""], ["jmx"], ["reporter", "jmx"]])
def test_unknown_names_are_refused(given: list[str]) -> None:
    """The error has those that exist."""
    with pytest.raises(ConfigError, match="reporter, strimzi, confluent, debezium"):
        chosen_profiles(given)
