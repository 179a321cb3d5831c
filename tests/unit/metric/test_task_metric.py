"""The metrics of one task: what becomes of its reports."""

from __future__ import annotations

import math

from hearth.metric.sample_window import SampleWindows
from hearth.metric.task_metric import TaskMetrics


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def task() -> tuple[TaskMetrics, Clock]:
    """Return metrics of a task and their clock."""
    clock = Clock()
    return TaskMetrics(SampleWindows(), clock), clock


def test_totals_are_those_of_the_last_report() -> None:
    """A report has only what changed."""
    metrics, _ = task()
    metrics.take({"polled": 5, "acknowledged": 3})
    metrics.take({"polled": 9})
    assert (metrics.count("polled"), metrics.count("acknowledged"), metrics.count("put")) == (9, 3, 0)


def test_rates_count_the_growth() -> None:
    """Also over a new run, which counts from 0."""
    metrics, clock = task()
    metrics.take({"polled": 30})
    clock.now = 30.0
    metrics.begin_run()
    assert metrics.count("polled") == 0
    metrics.take({"polled": 60})
    clock.now = 60.0 - 1e-9
    assert abs(metrics.rate("polled") - 90 / 60) < 1e-6


def test_averages_and_peaks_come_from_the_sums_of_reports() -> None:
    """The peak of each report is that since the report before it."""
    metrics, _ = task()
    metrics.take({"put_seconds": 2.0, "puts": 4, "put_longest": 1.5})
    metrics.take({"put_seconds": 2.5, "puts": 6, "put_longest": 0.4})
    assert (metrics.average("put", 1000), metrics.most("put", 1000)) == (2500 / 6, 1500)
    assert math.isnan(metrics.average("poll"))
    metrics.take({"transactions": 2, "transaction_records": 12, "transaction_largest": 8, "transaction_smallest": 4})
    assert (metrics.least("transaction"), metrics.most("transaction")) == (4, 8)


def test_commits_that_are_not_needed_count_as_successful() -> None:
    """As those of Kafka Connect, which commits nothing at intervals; but not of a task that does not run."""
    metrics, clock = task()
    assert metrics.commit_share(is_success=True) == 0
    metrics.enter("RUNNING")
    assert (metrics.commit_share(is_success=True), metrics.commit_share(is_success=False)) == (1, 0)
    metrics.take({"commits": 3, "commits_failed": 1})
    assert (metrics.commit_share(is_success=True), metrics.commit_share(is_success=False)) == (0.75, 0.25)
    clock.now = 61.0
    metrics.enter("FAILED")
    assert metrics.commit_share(is_success=True) == 0


def test_shares_of_time_begin_with_the_first_state() -> None:
    """And go on over runs."""
    metrics, clock = task()
    clock.now = 100.0
    metrics.enter("UNASSIGNED")
    clock.now = 110.0
    metrics.enter("RUNNING")
    clock.now = 130.0
    metrics.enter("PAUSED")
    clock.now = 140.0
    assert (metrics.time_share("RUNNING"), metrics.time_share("PAUSED")) == (0.5, 0.25)


def test_strange_counts_are_ignored() -> None:
    """A task of another version may report more."""
    metrics, _ = task()
    metrics.take({"polled": 1, "what is this": 3})
    assert metrics.count("what is this") == 0


def test_counts_with_parts_in_their_names_are_kept_apart() -> None:
    """Failures are those of the present run, committed offsets those of the task."""
    metrics, _ = task()
    metrics.take({"failed/VALUE_CONVERTER/a.B": 2, "committed/the.topic/11": 7, "read": 3})
    assert metrics.failures() == {("VALUE_CONVERTER", "a.B"): 2}
    assert metrics.committed() == {("the.topic", 11): 7}
    metrics.begin_run()
    assert (metrics.failures(), metrics.committed()) == ({}, {("the.topic", 11): 7})
