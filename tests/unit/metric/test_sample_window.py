"""Rates and averages over samples, with the figures of Kafka's ``Rate``, ``Avg`` and ``Max``."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.metric.sample_window import SampleWindows, WindowedStat

WINDOWS = SampleWindows(2, 30.0)


def test_rate_counts_a_sample_that_has_not_begun_as_over() -> None:
    """As Kafka's: one sample of two is taken as 30 s and what has passed."""
    stat = WindowedStat(WINDOWS)
    stat.record(100.0, 60)
    assert stat.rate(110.0) == 60 / 40
    assert stat.rate(130.0) == 60 / 30
    stat.record(130.0, 60)
    assert stat.rate(150.0) == 120 / 50


def test_nothing_is_left_of_a_sample_after_the_whole_window() -> None:
    """A rate falls to 0, and an average is unknown."""
    stat = WindowedStat(WINDOWS)
    stat.record(0.0, 10, 2, 8, 2)
    assert (stat.average(59.0), stat.most(59.0), stat.least(59.0), stat.share(59.0)) == (5, 8, 2, 5)
    assert stat.rate(60.0) == 0
    assert all(map(math.isnan, (stat.average(60.0), stat.most(60.0), stat.least(60.0))))
    assert stat.share(60.0) is None


def test_without_events_a_rate_is_zero_and_an_average_unknown() -> None:
    """As in Kafka."""
    stat = WindowedStat(WINDOWS)
    assert stat.rate(5.0) == 0
    assert math.isnan(stat.average(5.0))


def test_the_oldest_sample_makes_room() -> None:
    """With two samples, the third replaces the first."""
    stat = WindowedStat(WINDOWS)
    for began, value in ((0.0, 100), (30.0, 1), (60.0, 3)):
        stat.record(began, value, 1, value, value)
    assert (stat.most(60.0), stat.average(60.0)) == (3, 2)


def test_windows_have_at_least_a_millisecond() -> None:
    """``metrics.sample.window.ms`` may be 0."""
    assert SampleWindows.of(3, 0) == SampleWindows(3, 0.001)
    stat = WindowedStat(SampleWindows.of(1, 0))
    stat.record(1.0, 5)
    assert stat.rate(1.0) == pytest.approx(5000)


@given(st.lists(st.tuples(st.floats(0, 40), st.integers(0, 1000)), min_size=1))
def test_no_rate_exceeds_what_was_recorded(events: list[tuple[float, int]]) -> None:
    """Whatever the times, and averages lie between the extremes."""
    stat, now = WindowedStat(WINDOWS), 0.0
    for wait, value in events:
        now += wait
        stat.record(now, value, 1, value, value)
    assert 0 <= stat.rate(now) <= sum(value for _, value in events) / WINDOWS.seconds + 1e-9
    assert stat.least(now) <= stat.average(now) <= stat.most(now)
