"""The counts of a run, and what of them is reported."""

from __future__ import annotations

from hearth.link.task_counts import PEAKS, TaskCounts


def test_only_changed_counts_are_reported() -> None:
    """A report is small, however much a task counts."""
    counts = TaskCounts(polled=5, acknowledged=5)
    assert counts.changes({}) == {"polled": 5, "acknowledged": 5}
    assert counts.changes({"polled": 5}) == {"acknowledged": 5}


def test_a_count_that_fell_to_zero_is_reported() -> None:
    """For example that of active records."""
    assert TaskCounts().changes({"active": 3}) == {"active": 0}


def test_peaks_are_reported_whenever_they_are_set() -> None:
    """The same peak may come again."""
    assert TaskCounts(put_longest=1.5).changes({"put_longest": 1.5}) == {"put_longest": 1.5}
    assert TaskCounts().changes(dict.fromkeys(PEAKS, 3)) == {}
