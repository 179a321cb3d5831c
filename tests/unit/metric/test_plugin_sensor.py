"""Sensors of plugins and of Java's MBeans."""

from __future__ import annotations

from hearth.metric.exposition import exposition
from hearth.metric.plugin_sensor import of_plugins
from hearth_stage.plugin_call import Metric

OWN = Metric("plugins", "polls", "Polls.", {"unit": "1"}, 3)
SEEN = Metric(
    "debezium.postgres", "TotalNumberOfEventsSeen", "Events.",
    {"type": "connector-metrics", "context": "streaming", "server": "shop", "task": "0"}, 41,
)  # fmt: skip


def lines(metric: Metric, *profiles: str) -> list[str]:
    """Return the lines of a metric."""
    text = exposition(of_plugins("c", 2, [metric]), profiles)
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_what_plugins_register_has_kafkas_group_and_tags() -> None:
    """Those of the connector and its task, and their own (KIP-877)."""
    labels = '{connector="c",task="2",unit="1"} 3'
    assert lines(OWN, "reporter") == [f"kafka_connect_plugins_polls{labels}"]
    assert lines(OWN, "strimzi") == [f"kafka_connect_plugins_polls{labels}"]


def test_beans_of_debezium_have_the_names_that_its_dashboards_query() -> None:
    """In its own profile and Confluent's, elsewhere those of the JMX exporter."""
    wanted = (
        'debezium_metrics_TotalNumberOfEventsSeen{connector="c",plugin="postgres",context="streaming",name="shop",'
    )
    assert lines(SEEN, "debezium") == lines(SEEN, "confluent") == [wanted + 'task="0"} 41']
    (line,) = lines(SEEN, "reporter")
    assert line.startswith(
        'debezium_postgres_connector_metrics_TotalNumberOfEventsSeen{connector="c",plugin="postgres"'
    )
    assert len(lines(SEEN, "reporter", "debezium")) == 2


def test_truth_values_are_numbers_and_texts_are_labels() -> None:
    """What has no value now is left out."""
    assert lines(Metric("a.b", "Connected", value=True), "reporter") == ['a_b_Connected{connector="c",plugin="b"} 1']
    assert lines(Metric("a.b", "Mode", value="x"), "reporter") == ['a_b_Mode{connector="c",plugin="b",value="x"} 1']
    assert lines(Metric("a.b", "Gone"), "reporter") == []


def test_tags_of_any_name_are_labels() -> None:
    """The format allows letters, digits and underscores."""
    (line,) = lines(Metric("a", "N", tags={"a.b c": "1"}, value=0), "reporter")
    assert line == 'a_N{connector="c",plugin="a",a_b_c="1"} 0'
