"""The benchmark's figures: medians over pairs, and goals in both directions."""

from __future__ import annotations

from tests.bench.report import table
from tests.bench.result import Metric, Result

_RATE = Metric("rate", "records/s", goal=2.0)
_TIME = Metric("time", "s", "lower", goal=1.5, absolute=True)
_COST = Metric("cost", "CPU s", "lower", goal=4.0)


def _result() -> Result:
    result = Result("x", "a case", (_RATE, _TIME, _COST))
    for java, hearth in ((100, 300), (100, 100), (10, 25)):
        result.add("java", rate=java, time=5, cost=8)
        result.add("hearth", rate=hearth, time=1, cost=1)
    return result


def test_ratio_is_the_median_of_the_pairs() -> None:
    """Each pair ran under the same conditions, so the ratio is taken within pairs, then the median."""
    assert _result().ratio(_RATE) == 2.5


def test_ratio_is_how_many_times_better_hearth_is() -> None:
    """If less is better the ratio is inverted."""
    assert _result().ratio(_COST) == 8


def test_goal_is_a_ratio_or_a_value_of_hearth() -> None:
    """An absolute goal applies to Hearth alone."""
    result = _result()
    assert [result.is_reached(metric) for metric in result.metrics] == [True, True, True]
    assert Result("x", "", (_RATE,)).is_reached(_RATE) is None


def test_any_two_sides_are_compared() -> None:
    """The second with the first; absolute goals apply to the second, and the head names both."""
    result = Result("x", "a case", (_RATE, _TIME), ("in process", "in stages"))
    result.add("in process", rate=100, time=1)
    result.add("in stages", rate=300, time=2)
    assert (result.ratio(_RATE), result.is_reached(_TIME)) == (3, False)
    assert "In process  In stages" in table([result])


def test_a_side_without_runs_has_an_empty_column() -> None:
    """A single side has neither ratio nor verdict."""
    result = Result("x", "a case", (_RATE,))
    result.add("java", rate=7.0)
    assert result.ratio(_RATE) is None
    assert "MISSED" not in table([result])


def test_table_marks_missed_goals() -> None:
    """A missed goal is in capitals."""
    result = Result("x", "a case", (_RATE,))
    result.add("java", rate=10)
    result.add("hearth", rate=11)
    assert "MISSED" in table([result])
    assert "1.10 x" in table([result])


def test_json_has_every_run() -> None:
    """Other figures than the medians can be computed from the JSON."""
    row = _result().as_json()["metrics"][0]
    assert row["runs"] == {"java": [100, 100, 10], "hearth": [300, 100, 25]}
    assert (row["java"], row["hearth"], row["reached"]) == (100, 100, True)
