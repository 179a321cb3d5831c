"""Endpoints below `/hearth`, of a worker with a connector."""

from __future__ import annotations

import time

from tests.unit.rest.client import Client


def test_a_connector_has_a_report_and_an_explanation(client: Client) -> None:
    """In both forms of its path."""
    client.create("c")
    for path in ("/hearth/connectors/c", "/hearth/connectors/report?name=c"):
        report = client.call("GET", path).json
        assert (report["name"], report["target"], report["running"]) == ("c", "STARTED", True)
        assert [each["id"] for each in report["tasks"]] == [0]
    for path in ("/hearth/connectors/c/explain", "/hearth/connectors/explain?name=c"):
        found = client.call("GET", path).json
        assert found["name"] == "c"
        assert found["condition"] == found["findings"][0]["condition"]


def test_a_stopped_connector_says_so(client: Client) -> None:
    """Its report has no tasks."""
    client.create("c")
    client.call("PUT", "/connectors/c/stop")
    assert client.call("GET", "/hearth/connectors/c").json["tasks"] == []
    assert client.call("GET", "/hearth/connectors/c/explain").json["condition"] == "stopped"


def test_unknown_connectors_are_not_found(client: Client) -> None:
    """With Kafka Connect's error."""
    assert client.call("GET", "/hearth/connectors/none/explain").status == 404


def test_metrics_have_the_conditions(client: Client) -> None:
    """Of every connector, once."""
    client.create("c")
    client.create("d")
    client.call("PUT", "/connectors/d/stop")
    time.sleep(1.1)  # an answer is given again for a second
    text = client.call("GET", "/metrics").text
    lines = [line for line in text.splitlines() if line.startswith("hearth_connector_condition{")]
    assert [line for line in lines if 'connector="d"' in line] == [
        'hearth_connector_condition{connector="d",condition="stopped"} 1'
    ]
    assert len(lines) == 2
