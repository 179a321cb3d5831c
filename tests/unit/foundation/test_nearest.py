"""The name that was meant."""

from __future__ import annotations

from hearth.foundation.nearest import LONGEST_NAME, did_you_mean


def test_a_name_that_resembles_is_asked_for() -> None:
    """Where there is one, the best."""
    known = ["topic", "topics", "file"]
    assert did_you_mean("tpoic", known) == ", did you mean 'topic'?"
    assert did_you_mean("zz", known) == did_you_mean("topic", []) == ""


def test_a_name_that_is_none_by_its_length_resembles_none() -> None:
    """Comparing it would take for ever."""
    assert did_you_mean("t" * (LONGEST_NAME + 1), ["t" * LONGEST_NAME]) == ""
