"""The text format, read by prometheus-client."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from hearth.metric.exposition import exposition, number
from hearth.metric.sample_window import SampleWindows
from hearth.metric.sensor import OWN, Measurement, Sensor, SensorKind, Tags
from hearth.metric.task_metric import TaskMetrics
from hearth.metric.task_sensor import MeasuredTask
from tests.unit.runtime.sample import task_plan

VALUE = Sensor("sink-task-metrics", "partition-count", "Partitions assigned\nto the \\ task.")
STATUS = Sensor("connector-task-metrics", "status", "State.", SensorKind.TEXT)
OWN_TOTAL = Sensor("", "restarts-total", "Restarts.", SensorKind.TOTAL, OWN)


def read(measurements: list[Measurement], *profiles: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return the samples that prometheus-client finds."""
    text = exposition(measurements, profiles or ("reporter",))
    families = text_string_to_metric_families(text)
    samples = [each for family in families for each in family.samples]
    found = {(each.name, tuple(each.labels.items())): each.value for each in samples}
    assert len(found) == len(samples), "each sample is there once"
    return found


@given(st.text(), st.floats())
def test_any_label_and_value_is_read_as_written(label: str, value: float) -> None:
    """Quotes, backslashes and line ends, and what is no number."""
    label = label.encode("utf-8", "replace").decode().replace("\r", " ")
    ((key, found),) = read([(VALUE, Tags.of(connector=label), value)]).items()
    assert key == ("kafka_connect_sink_task_metrics_partition_count", (("connector", label),))
    assert found == value or (math.isnan(found) and math.isnan(value))


def test_a_text_is_a_label() -> None:
    """And the value is 1."""
    found = read([(STATUS, Tags.of(connector="c", task=0), "running")])
    labels = (("connector", "c"), ("task", "0"), ("status", "running"))
    assert found == {("kafka_connect_connector_task_metrics_status_info", labels): 1}


def test_values_of_one_name_stand_together() -> None:
    """With one line about their meaning and one about their kind, as the format demands."""
    text = exposition([(VALUE, Tags.of(task=n), n) for n in (0, 1)] + [(OWN_TOTAL, Tags(), 3)], ["strimzi"])
    assert text == (
        "# HELP kafka_connect_sink_task_partition_count Partitions assigned\\nto the \\\\ task.\n"
        "# TYPE kafka_connect_sink_task_partition_count gauge\n"
        'kafka_connect_sink_task_partition_count{task="0"} 0\n'
        'kafka_connect_sink_task_partition_count{task="1"} 1\n'
        "# HELP hearth_restarts_total Restarts.\n"
        "# TYPE hearth_restarts_total counter\n"
        "hearth_restarts_total 3\n"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "1"), (7, "7"), (0.5, "0.5"), (math.inf, "+Inf"), (-math.inf, "-Inf"), (math.nan, "NaN")],
)
def test_numbers_are_written_as_prometheus_reads_them(value: float, text: str) -> None:
    """Truth values as 0 and 1."""
    assert number(value) == text


def test_three_hundred_tasks_take_less_than_a_tenth_of_a_second() -> None:
    """Of processor time, with a window of each value."""
    tasks = []
    for place in range(300):
        metrics = TaskMetrics(SampleWindows())
        metrics.enter("RUNNING")
        metrics.take({"polled": 5, "polls": 1, "poll_seconds": 1.0, "acknowledged": 5, "commits": 1})
        tasks.append(MeasuredTask(replace(task_plan("source"), connector=f"c{place}"), metrics))
    best = math.inf
    for _ in range(3):
        began = time.process_time()
        text = exposition([each for task in tasks for each in task.measure("RUNNING")], ["reporter"])
        best = min(best, time.process_time() - began)
    assert text.count("\n") > 300 * 45
    assert best < 0.1
