"""Pieces of text are joined to columns: columns, spans of a buffer, and constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.layout import spans as module
from hearth_api.layout.spans import Spans, address_of, copied, join, number_type

TEXT = st.binary(max_size=4)
POOLS: list[Any] = []
"""They must outlive the copies."""


@st.composite
def rows_and_pieces(draw: st.DrawFn) -> tuple[list[bytes | None], list[Any]]:
    """Draw pieces for some rows, and the expected rows."""
    count = draw(st.integers(0, 4))
    content = np.frombuffer(draw(st.binary(min_size=1, max_size=9)), np.uint8)
    rows: list[bytes | None] = [b""] * count
    pieces: list[Any] = []
    for kind in draw(st.lists(st.sampled_from(["same", "column", "spans"]), max_size=5)):
        texts: list[bytes | None]
        if kind == "same":
            pieces.append(draw(TEXT))
            texts = [pieces[-1]] * count
        elif kind == "column":
            before = draw(st.integers(0, 2))
            texts = draw(st.lists(st.none() | TEXT, min_size=count, max_size=count))
            pieces.append(pa.array([b"?"] * before + texts, pa.binary()).slice(before))
        else:
            edges = draw(
                st.lists(st.tuples(*[st.integers(0, len(content))] * 2).map(sorted), min_size=count, max_size=count)
            )
            starts, ends = (np.array([edge[index] for edge in edges], np.int64) for index in (0, 1))
            pieces.append(Spans(content, starts, ends))
            texts = [content[first:last].tobytes() for first, last in edges]
        rows = [None if row is None or text is None else row + text for row, text in zip(rows, texts)]
    return rows, pieces


@given(rows_and_pieces())
def test_pieces_are_joined_row_by_row(drawn: tuple[list[bytes | None], list[Any]]) -> None:
    """A null in any piece makes a null; spans may overlap and be in any order."""
    rows, pieces = drawn
    joined = join(pieces, len(rows))
    joined.validate(full=True)
    assert joined.type == pa.binary()
    assert joined.to_pylist() == rows


def test_texts_exceeding_one_column_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not truncated, as offsets that overflow would do."""
    monkeypatch.setattr(module, "_MOST_BYTES", 3)
    spans = Spans(np.frombuffer(b"abc", np.uint8), np.array([0]), np.array([1]))
    assert join([spans], 1).to_pylist() == [b"a"]
    with pytest.raises(pa.ArrowCapacityError, match="texts of 4 bytes"):
        join([spans, b"xyz"], 1)


@pytest.mark.parametrize("width", [np.int32, np.int64])
@pytest.mark.parametrize("gap", [0, 1, 1000])
def test_copy_allocates_only_its_own_size(width: Any, gap: int) -> None:
    """Reserving less would copy again as it grows; reserving more would copy to give back the rest (decision 0074)."""
    count, size = 1000, 100
    content = np.zeros(count * (size + gap), np.uint8)
    edges = np.zeros(2 * count + 1, width)
    edges[:-1:2] = np.arange(count) * (size + gap)
    edges[1::2] = edges[:-1:2] + size
    before = pa.default_memory_pool()
    POOLS.append(pool := pa.proxy_memory_pool(before))
    pa.set_memory_pool(pool)
    try:
        column = copied(address_of(content), edges, count * size)
    finally:
        pa.set_memory_pool(before)
    assert column.to_pylist() == [bytes(size)] * count
    assert pool.total_bytes_allocated() == pool.bytes_allocated()


def test_number_type_matches_arrows() -> None:
    """Where Arrow provides it: with pandas, or from version 26 on."""
    kinds = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.float32(), pa.float64()]
    for kind in kinds:
        assert pa.array(np.zeros(1, number_type(kind))).type == kind
