"""Metrics of plugins: what is shown, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hearth_api import MetricStat, PluginMetrics
from hearth_api.plugin_metrics import WINDOW_SECONDS
from hearth_api.testing import MemorySourceTaskContext
from tests.page import block
from tests.unit.metric.test_task_metric import Clock


def shown(metrics: PluginMetrics) -> dict[str, Any]:
    """Return the values by name."""
    return {each.name: each.value for each in metrics.values()}


def test_a_gauge_shows_what_it_reads() -> None:
    """Each time; one that raises has no value."""
    metrics, depth = PluginMetrics(), [3]
    metrics.gauge("queue-depth", lambda: depth[0], "Waiting rows.", {"table": "t"})
    metrics.gauge("broken", lambda: 1 // 0)
    (first, second) = metrics.values()
    assert (first.name, first.description, first.tags, first.value) == (
        "queue-depth",
        "Waiting rows.",
        {"table": "t"},
        3,
    )
    assert second.value is None
    depth[0] = 4
    assert shown(metrics)["queue-depth"] == 4


def test_a_sensor_shows_its_stats() -> None:
    """Averages, extremes and rates of two windows; totals of all time."""
    clock = Clock()
    metrics = PluginMetrics(clock)
    sensor = metrics.sensor("rows")
    for stat in MetricStat:
        sensor.add(f"rows-{stat.value}", stat)
    assert shown(metrics) == {
        "rows-avg": None, "rows-max": None, "rows-min": None, "rows-rate": 0, "rows-total": 0, "rows-count": 0,
        "rows-value": None,
    }  # fmt: skip
    sensor.record(100)
    clock.now = 5 * WINDOW_SECONDS
    sensor.record(2)
    clock.now = 6 * WINDOW_SECONDS - 1e-9
    sensor.record(4)
    assert shown(metrics) == {
        "rows-avg": 3, "rows-max": 4, "rows-min": 2, "rows-rate": pytest.approx(6 / 60), "rows-total": 106,
        "rows-count": 3, "rows-value": 4,
    }  # fmt: skip
    assert metrics.sensor("rows") is sensor


def test_the_guides_example_measures_a_task() -> None:
    """With the context that tests of plugins have as well."""
    namespace: dict[str, Any] = {"MetricStat": MetricStat}
    exec(block("python", "self.context.metrics()"), namespace)
    task: Any = SimpleNamespace(context=MemorySourceTaskContext(), _queue=["row"])
    namespace["start"](task, {})
    namespace["poll"](task)
    assert shown(task.context.metrics()) == {
        "queue-depth": 1, "pages-total": 1, "pages-rate": pytest.approx(1 / WINDOW_SECONDS),
    }  # fmt: skip


def test_what_would_be_ambiguous_is_refused() -> None:
    """Reserved tags, metrics that exist, and names that are missing."""
    metrics = PluginMetrics()
    metrics.gauge("a", lambda: 1, tags={"x": "1"})
    metrics.gauge("a", lambda: 1, tags={"x": "2"})
    for name, tags, words in (("a", {"x": "1"}, "exists already"), ("b", {"task": "0"}, "reserved"), ("", {}, "name")):
        with pytest.raises(ValueError, match=words):
            metrics.gauge(name, lambda: 1, tags=tags)


def test_metrics_and_sensors_are_removed() -> None:
    """A sensor with all of its metrics; what is not there is refused."""
    metrics = PluginMetrics()
    metrics.gauge("a", lambda: 1)
    metrics.sensor("s").add("b", MetricStat.TOTAL).add("c", MetricStat.COUNT)
    metrics.remove_sensor("s")
    assert list(shown(metrics)) == ["a"]
    metrics.remove("a")
    assert not shown(metrics)
    with pytest.raises(ValueError, match="no metric 'a'"):
        metrics.remove("a")
    with pytest.raises(ValueError, match="no sensor 's'"):
        metrics.remove_sensor("s")


def test_a_stopped_task_registers_nothing() -> None:
    """And has no metrics any more; a sensor that it still has records into nothing."""
    metrics = PluginMetrics()
    sensor = metrics.sensor("s").add("b", MetricStat.TOTAL)
    metrics.close()
    sensor.record()
    assert not shown(metrics)
    for register in (lambda: metrics.gauge("a", lambda: 1), lambda: metrics.sensor("t")):
        with pytest.raises(RuntimeError, match="has stopped"):
            register()
