"""What a process does before it forks others, so that they write to few of the pages that they share."""

from __future__ import annotations

import gc
import sys

import pytest

from hearth_stage import shared_memory

SIZES = (50, 170, 479)
"""Of bytes, without their head of 33: in a pool of small objects, of medium ones, of the largest."""


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="other Pythons keep their objects otherwise")
@pytest.mark.parametrize("size", SIZES)
def test_what_is_made_when_gaps_are_filled_lies_in_none(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand gaps none is left, so what is new has memory of its own."""
    monkeypatch.setattr(shared_memory, "_fillers", [])
    kept = [bytes(size) for _ in range(2000)]
    gaps = {id(each) for each in kept[::2]}
    del kept[::2]
    assert gaps & {id(each) for each in [bytes(size) for _ in range(100)]}, "otherwise this tests nothing"
    shared_memory.fill_gaps()
    assert not gaps & {id(each) for each in [bytes(size) for _ in range(100)]}


def test_there_is_an_end_where_objects_are_kept_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no pool ever is filled as one expects, no more than half a megabyte is made of each size."""
    monkeypatch.setattr(shared_memory, "_fillers", [])
    monkeypatch.setattr(shared_memory, "_POOL_BYTES", 1 << 40)
    shared_memory.fill_gaps()
    made = sum(map(sys.getsizeof, shared_memory._fillers))
    assert 0 < made < 30 << 19


def test_nothing_is_left_for_the_collector_or_to_look_for_modules_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both would write to all that they know, in each process that is forked."""
    monkeypatch.setattr(shared_memory, "_fillers", [])
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    before = gc.get_freeze_count()
    try:
        shared_memory.share_memory()
        assert gc.get_freeze_count() > before
        assert sys.path_importer_cache == {}
    finally:
        gc.unfreeze()
