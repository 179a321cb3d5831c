"""Sensors of tasks: those of Kafka Connect, for the kind of task that it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hearth.metric.sample_window import SampleWindows
from hearth.metric.sensor import CONNECT
from hearth.metric.task_metric import TaskMetrics
from hearth.metric.task_sensor import MeasuredTask
from hearth.runtime.plan import TaskPlan, TransactionPlan
from hearth.staging.plugin_plan import PluginSpec
from tests.unit.runtime.sample import plugin, task_plan

OF_TASKS = {
    "connector-task-metrics": "batch-size-avg batch-size-max connector-class connector-type connector-version "
    "header-converter-class header-converter-version key-converter-class key-converter-version "
    "offset-commit-avg-time-ms offset-commit-failure-percentage offset-commit-max-time-ms "
    "offset-commit-success-percentage pause-ratio running-ratio status task-class task-version "
    "value-converter-class value-converter-version",
    "task-error-metrics": "deadletterqueue-produce-failures deadletterqueue-produce-requests last-error-timestamp "
    "total-errors-logged total-record-errors total-record-failures total-records-skipped total-retries",
}
OF_KINDS = {
    "source": {
        "source-task-metrics": "poll-batch-avg-time-ms poll-batch-max-time-ms source-record-active-count "
        "source-record-active-count-avg source-record-active-count-max source-record-poll-rate "
        "source-record-poll-total source-record-write-rate source-record-write-total"
    },
    "sink": {
        "sink-task-metrics": "offset-commit-completion-rate offset-commit-completion-total offset-commit-seq-no "
        "offset-commit-skip-rate offset-commit-skip-total partition-count put-batch-avg-time-ms "
        "put-batch-max-time-ms sink-record-active-count sink-record-active-count-avg sink-record-active-count-max "
        "sink-record-read-rate sink-record-read-total sink-record-send-rate sink-record-send-total"
    },
}
"""The attributes of Kafka Connect 4.3.1 by group, as JMX lists them."""
TRANSACTIONS = {"transaction-size-avg", "transaction-size-max", "transaction-size-min"}


def names(plan: TaskPlan) -> dict[str, set[str]]:
    """Return the names of a task's sensors by group."""
    found: dict[str, set[str]] = {}
    for sensor, _, _ in MeasuredTask(plan, TaskMetrics(SampleWindows())).measure("RUNNING"):
        if sensor.domain == CONNECT:
            found.setdefault(sensor.group, set()).add(sensor.name)
    return found


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_tasks_have_the_sensors_of_kafka_connect(kind: str) -> None:
    """Of their kind, and no others."""
    wanted = {group: set(listed.split()) for group, listed in (OF_TASKS | OF_KINDS[kind]).items()}
    assert names(task_plan(kind)) == wanted


def test_sizes_of_transactions_are_those_of_tasks_that_have_them() -> None:
    """Exactly-once tasks alone."""
    plan = task_plan("source")
    assert plan.source is not None
    transaction = TransactionPlan("id", ("offsets",), "poll", 1.0)
    exact = replace(plan, source=replace(plan.source, transaction=transaction))
    assert names(exact)["source-task-metrics"] - names(plan)["source-task-metrics"] == TRANSACTIONS


def texts(*steps: PluginSpec) -> dict[tuple[Any, ...], Any]:
    """Return the texts about steps, by their sensor and tags."""
    measured = MeasuredTask(task_plan("sink", *steps), TaskMetrics(SampleWindows()))
    return {
        (sensor.group, sensor.name, *tags.pairs[2:]): value
        for sensor, tags, value in measured.measure("RUNNING")
        if sensor.group.startswith(("connector-transform", "connector-predicate"))
    }


def test_steps_are_named_by_their_alias() -> None:
    """With class and version; a predicate as well."""
    steps = plugin("transforms.up", "Upper"), plugin("predicates.all", "Always")
    assert texts(*steps) == {
        ("connector-transform-metrics", "transform-class", ("transform", "up")): "sample.Upper",
        ("connector-transform-metrics", "transform-version", ("transform", "up")): "1.0",
        ("connector-predicate-metrics", "predicate-class", ("predicate", "all")): "sample.Always",
        ("connector-predicate-metrics", "predicate-version", ("predicate", "all")): "1.0",
    }
