"""Garbage collection: a process that handles records seldom searches for cycles."""

from __future__ import annotations

import gc

from hearth_execution.garbage import collect_seldom


def test_thousands_of_records_trigger_no_collection() -> None:
    """The search would visit them all and free none."""
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
