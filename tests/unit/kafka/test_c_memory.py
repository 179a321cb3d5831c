"""Pieces of memory become columns in order."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.kafka import c_memory
from hearth.kafka.c_memory import MESSAGE, gather, locate, messages

POOL = pa.proxy_memory_pool(pa.default_memory_pool())
"""Has to outlive what was taken from it."""


RANDOM = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
"""The first call imports; the fixture holds for all examples."""


@pytest.fixture(params=dict.fromkeys([c_memory.IS_COMPILED, False]), ids=str, autouse=True)
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gather as it is done here, and as it is done where nothing could be compiled."""
    monkeypatch.setattr(c_memory, "IS_COMPILED", request.param)


def addresses_of(buffer: Any, starts: list[int]) -> Any:
    """Return the addresses of places in a buffer."""
    base = np.frombuffer(buffer, np.uint8).ctypes.data
    return base + np.array(starts, np.int64)


@RANDOM
@given(pieces=st.lists(st.tuples(st.integers(0, 900), st.integers(0, 100)), max_size=50))
def test_pieces_are_copied_in_their_order(pieces: list[tuple[int, int]]) -> None:
    """Pieces may overlap, be empty, lie in any order and come more than once."""
    content = bytes(range(256)) * 4
    places = addresses_of(content, [start for start, _ in pieces])
    sizes = np.array([size for _, size in pieces], np.int64)
    assert gather(places, sizes).to_pylist() == [content[start : start + size] for start, size in pieces]


def test_distant_pieces_need_only_their_own_memory() -> None:
    """The allocator's arenas are terabytes apart; only copied bytes are allocated."""
    far = mmap.mmap(-1, 1 << 30)
    far[:3], far[-3:] = b"one", b"two"
    places, sizes = addresses_of(far, [len(far) - 3, 0, len(far) - 2]), np.array([3, 3, 2], np.int64)
    places = np.append(places, addresses_of(b"three", [0]))
    before = pa.default_memory_pool()
    pa.set_memory_pool(POOL)
    try:
        column = gather(places, np.append(sizes, 5))
    finally:
        pa.set_memory_pool(before)
    assert column.to_pylist() == [b"two", b"one", b"wo", b"three"]
    assert POOL.max_memory() < 1 << 12


def test_structures_are_copied_from_any_address() -> None:
    """In the order requested."""
    content = bytes(range(256)) * 2
    places = addresses_of(content, [77, 0, 3])
    expected = [np.frombuffer(content, MESSAGE, 1, start)[0].tobytes() for start in (77, 0, 3)]
    assert [row.tobytes() for row in messages(places)] == expected
    assert len(messages(np.empty(0, np.int64))) == 0


def test_address_zero_is_null() -> None:
    """librdkafka gives no address to a key or value that is missing."""
    content = b"abc"
    places = addresses_of(content, [0, 0, 2])
    places[1] = 0
    column = gather(places, np.array([1, 0, 1], np.int64))
    assert column.to_pylist() == [b"a", None, b"c"]
    assert gather(np.zeros(2, np.int64), np.zeros(2, np.int64)).to_pylist() == [None, None]


@RANDOM
@given(values=st.lists(st.none() | st.binary(max_size=20)), start=st.integers(0, 5))
def test_a_column_is_located_and_gathered_back(values: list[bytes | None], start: int) -> None:
    """`locate` and `gather` are each other's inverse, also where a column is a slice."""
    column = pa.array(values, pa.binary()).slice(start)
    assert gather(*locate(column)).to_pylist() == values[start:]
