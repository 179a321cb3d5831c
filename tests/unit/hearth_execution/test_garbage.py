"""Garbage: a process that handles records looks for cycles seldom."""

from __future__ import annotations

import gc

from hearth_execution.garbage import collect_seldom


def test_some_thousand_records_have_nothing_collected() -> None:
    """They would all be looked at, and none be freed."""
    before = gc.get_threshold()
    try:
        collect_seldom()
        gc.collect()
        looked = gc.get_stats()[0]["collections"]
        records = [[number] for number in range(5000)]
        assert gc.get_stats()[0]["collections"] == looked
        assert len(records) == 5000
    finally:
        gc.set_threshold(*before)
