"""The names of metrics in each exporter, as its rules make them; that dashboards find them is an integration test."""

from __future__ import annotations

import pytest

from hearth.metric.metric_name import PROFILES, names_of
from hearth.metric.sensor import OWN, PRODUCER, Sensor, SensorKind, Tags

TOTAL = Sensor("source-task-metrics", "source-record-poll-total", "", SensorKind.TOTAL)
STATUS = Sensor("connector-metrics", "status", "", SensorKind.TEXT)
WORKER = Sensor("connect-worker-metrics", "connector-count", "")
BYTES = Sensor("producer-node-metrics", "incoming-byte-total", "", SensorKind.TOTAL, PRODUCER)

CASES = [
    (TOTAL, "reporter", ["kafka_connect_source_task_metrics_source_record_poll"], "gauge"),
    (TOTAL, "strimzi", ["kafka_connect_source_task_source_record_poll_total"], "counter"),
    (
        TOTAL,
        "confluent",
        [f"kafka_connect_source_task_metrics_source_record_poll{end}" for end in ("", "_total")],
        "gauge",
    ),
    (TOTAL, "debezium", [], ""),
    (STATUS, "reporter", ["kafka_connect_connector_metrics_status_info"], "gauge"),
    (STATUS, "strimzi", ["kafka_connect_connector_status"], "gauge"),
    (STATUS, "confluent", ["kafka_connect_connector_metrics"], "gauge"),
    (WORKER, "reporter", ["kafka_connect_connect_worker_metrics_connector_count"], "gauge"),
    (WORKER, "strimzi", ["kafka_connect_worker_connector_count"], "gauge"),
    (WORKER, "debezium", ["kafka_connect_worker_metrics_connector_count"], "gauge"),
    (BYTES, "reporter", ["kafka_producer_producer_node_metrics_incoming_byte"], "gauge"),
    (BYTES, "strimzi", ["kafka_producer_node_incoming_byte_total"], "counter"),
]


@pytest.mark.parametrize(("sensor", "profile", "names", "kind"), CASES)
def test_names_are_those_of_the_exporter(sensor: Sensor, profile: str, names: list[str], kind: str) -> None:
    """And the kinds, in each profile."""
    found = names_of(sensor, [profile])
    assert [each.name for each in found] == names
    assert {each.kind for each in found} <= {kind}


def test_what_kafka_connect_lacks_has_one_name() -> None:
    """In whatever profiles."""
    own = Sensor("", "sink-lag-records", "", domain=OWN)
    assert [each.name for each in names_of(own, list(PROFILES))] == ["hearth_sink_lag_records"]


@pytest.mark.parametrize(
    ("profile", "labels"),
    [
        ("reporter", 'client_id="a:1",node_id="all"'),
        ("strimzi", 'clientid="a:1",nodeid="all"'),
        ("confluent", 'client_id="a:1",node_id="all"'),
    ],
)
def test_tags_are_labels(profile: str, labels: str) -> None:
    """With the exporter's spelling; a client id with a colon is not quoted twice, as JMX does it."""
    (name, *_) = names_of(BYTES, [profile])
    assert name.labelled(Tags.of(client_id="a:1", node_id="all")) == labels


def test_totals_of_the_worker_are_of_the_connector_aggregate() -> None:
    """Only in Confluent's names, and only where there is no connector."""
    (name,) = names_of(WORKER, ["confluent"])
    assert name.labelled(Tags()) == 'connector="aggregate"'
    assert name.labelled(Tags.of(connector="c")) == 'connector="c"'
