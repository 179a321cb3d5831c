"""What the worker counts: starts, and changes of the leader."""

from __future__ import annotations

import math

import pytest

from hearth.metric.sample_window import SampleWindows
from hearth.metric.worker_metric import LeaderChanges, StartCounts
from tests.unit.metric.test_task_metric import Clock


def test_starts_that_raise_have_failed() -> None:
    """The others succeeded."""
    starts = StartCounts(SampleWindows())
    for _ in range(3):
        with starts.counted():
            pass
    with pytest.raises(ValueError, match="no"), starts.counted():
        raise ValueError("no")
    assert (starts.attempts, starts.succeeded, starts.failed) == (4, 3, 1)
    assert (starts.share(is_success=True), starts.share(is_success=False)) == (0.75, 0.25)


def test_without_starts_no_share_succeeded_or_failed() -> None:
    """As in Kafka."""
    starts = StartCounts(SampleWindows())
    assert (starts.share(is_success=True), starts.share(is_success=False)) == (0, 0)


def test_changes_of_the_leader_are_measured() -> None:
    """How long, how many, when, and to which term; a change under way shows."""
    clock = Clock()
    changes = LeaderChanges(SampleWindows(), clock)
    assert changes.seconds_since == math.inf
    with changes.under_way(7):
        assert changes.is_under_way
        clock.now = 2.0
    with changes.under_way():
        clock.now = 3.0
    clock.now = 10.0
    assert (changes.completed, changes.term, changes.is_under_way) == (2, 7, False)
    assert (changes.average(), changes.longest(), changes.seconds_since) == (1.5, 2.0, 7.0)
