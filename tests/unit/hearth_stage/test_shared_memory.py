"""Preparing a process for forking, so that its forks write to few shared pages."""

from __future__ import annotations

import gc
import sys

import pytest

from hearth_stage import shared_memory

SIZES = (50, 170, 479)
"""Of bytes, without their head of 33: in a pool of small objects, of medium ones, of the largest."""


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="other Pythons keep their objects otherwise")
@pytest.mark.parametrize("size", SIZES)
def test_objects_after_filling_gaps_use_new_memory(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of a thousand gaps is left, so new objects get their own memory."""
    monkeypatch.setattr(shared_memory, "_fillers", [])
    kept = [bytes(size) for _ in range(2000)]
    gaps = {id(each) for each in kept[::2]}
    del kept[::2]
    assert gaps & {id(each) for each in [bytes(size) for _ in range(100)]}, "otherwise this tests nothing"
    shared_memory.fill_gaps()
    assert not gaps & {id(each) for each in [bytes(size) for _ in range(100)]}


def test_filling_gaps_is_limited_with_another_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no pool ever fills as expected, at most half a megabyte is allocated per size."""
    monkeypatch.setattr(shared_memory, "_fillers", [])
    monkeypatch.setattr(shared_memory, "_POOL_BYTES", 1 << 40)
    shared_memory.fill_gaps()
    made = sum(map(sys.getsizeof, shared_memory._fillers))
    assert 0 < made < 30 << 19


def test_objects_are_frozen_and_path_finders_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both would write to all their objects in each fork."""
    monkeypatch.setattr(shared_memory, "_fillers", [])
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    before = gc.get_freeze_count()
    try:
        shared_memory.share_memory()
        assert gc.get_freeze_count() > before
        assert sys.path_importer_cache == {}
    finally:
        gc.unfreeze()


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="other Pythons keep their look-ups otherwise")
def test_cached_attributes_hold_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork that looks up something else would write to each name that is replaced in the cache."""
    monkeypatch.setattr(shared_memory, "_fillers", [])
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    names = [f"attribute {number}" for number in range(100)]
    looked_up = type("LookedUp", (), dict.fromkeys(names))
    before = sum(map(sys.getrefcount, names))
    assert not any(getattr(looked_up, name) for name in names)
    assert sum(map(sys.getrefcount, names)) > before, "otherwise this tests nothing"
    try:
        shared_memory.share_memory()
        assert sum(map(sys.getrefcount, names)) == before
    finally:
        gc.unfreeze()
