"""Sensors of the worker and its connectors: those of Kafka Connect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hearth.metric import worker_sensor
from hearth.metric.sample_window import SampleWindows
from hearth.metric.sensor import Measurement
from hearth.metric.worker_metric import WorkerMetrics
from hearth.metric.worker_sensor import ConnectorFacts


def values(measurements: Iterable[Measurement]) -> dict[str, Any]:
    """Return the values by name."""
    return {sensor.name: value for sensor, _, value in measurements}


def test_tasks_are_counted_by_their_state() -> None:
    """In Kafka Connect's words."""
    facts = ConnectorFacts("c", "RUNNING", "sink", "the.Sink", "2.0", ("RUNNING", "FAILED", "RUNNING", "UNASSIGNED"))
    assert values(worker_sensor.of_connector(facts)) == {
        "status": "running",
        "connector-type": "sink",
        "connector-class": "the.Sink",
        "connector-version": "2.0",
        "connector-total-task-count": 4,
        "connector-running-task-count": 2,
        "connector-paused-task-count": 0,
        "connector-failed-task-count": 1,
        "connector-unassigned-task-count": 1,
        "connector-destroyed-task-count": 0,
        "connector-restarting-task-count": 0,
    }


def test_a_connector_without_tasks_has_no_counts_of_them() -> None:
    """The group appears with the first task, as in Kafka Connect."""
    found = values(worker_sensor.of_connector(ConnectorFacts("c", "STOPPED", "sink", "the.Sink", "2.0")))
    assert sorted(found) == ["connector-class", "connector-type", "connector-version", "status"]


def test_starts_of_tasks_are_counted() -> None:
    """Where Kafka Connect's counts stay 0."""
    metrics = WorkerMetrics(SampleWindows())
    for is_success in (True, True, True, False):
        metrics.task_starts.ended(is_success=is_success)
    found = values(worker_sensor.of_worker(metrics, 2, 5))
    assert {name: value for name, value in found.items() if name.startswith("task-")} == {
        "task-count": 5,
        "task-startup-attempts-total": 4,
        "task-startup-success-total": 3,
        "task-startup-success-percentage": 0.75,
        "task-startup-failure-total": 1,
        "task-startup-failure-percentage": 0.25,
    }
    assert found["connector-count"] == 2


def test_a_change_of_the_leader_is_a_rebalance() -> None:
    """The term is its epoch; before the first, its time is unknown."""
    metrics = WorkerMetrics(SampleWindows())
    before = values(worker_sensor.of_leader(metrics.leader_changes, "unknown"))
    assert (before["epoch"], before["time-since-last-rebalance-ms"]) == (0, float("inf"))
    with metrics.leader_changes.under_way(4):
        assert values(worker_sensor.of_leader(metrics.leader_changes, "unknown"))["rebalancing"]
    after = values(worker_sensor.of_leader(metrics.leader_changes, "http://a:1"))
    assert (after["epoch"], after["completed-rebalances-total"], after["leader-name"]) == (4, 1, "http://a:1")
    assert after["rebalance-max-time-ms"] >= after["rebalance-avg-time-ms"] >= 0
