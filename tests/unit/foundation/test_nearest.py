"""Suggestions for unknown names."""

from __future__ import annotations

from hearth.foundation.nearest import LONGEST_NAME, did_you_mean


def test_similar_name_is_suggested() -> None:
    """Where there is one, the best."""
    known = ["topic", "topics", "file"]
    assert did_you_mean("tpoic", known) == ", did you mean 'topic'?"
    assert did_you_mean("zz", known) == did_you_mean("topic", []) == ""


def test_overlong_name_gets_no_suggestion() -> None:
    """Comparing it would take for ever."""
    assert did_you_mean("t" * (LONGEST_NAME + 1), ["t" * LONGEST_NAME]) == ""
