"""Pieces of texts: cut out of columns, and joined to columns, without a loop per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BYTES = pa.binary()
_EMPTY = pa.scalar(b"", _BYTES)


@lru_cache(maxsize=256)
def constant(text: str) -> Any:
    """Return a text as Arrow's functions take it.

    Given one of Python's own they look each time whether there is a pandas to ask, which takes them 0.1 ms.
    """
    return pa.scalar(text, pa.string())


def memory(column: Any) -> tuple[Any, Any]:
    """Return the bytes of a binary or string column as numpy array, from its first row to its last, and the offsets.

    There is one offset more than rows, and the first is 0.
    """
    _, offsets, data = column.buffers()
    width = np.int64 if column.type in (pa.large_binary(), pa.large_string()) else np.int32
    if offsets is None or len(column) == 0:
        return np.empty(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    ends = np.frombuffer(offsets, width, len(column) + 1, column.offset * np.dtype(width).itemsize)
    if data is None:
        return np.empty(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    content = np.frombuffer(data, np.uint8)[ends[0] : ends[-1]]
    return content, ends.astype(np.int64) - int(ends[0])


def pick(content: Any, starts: Any, ends: Any) -> Any:
    """Copy pieces of the content, which follow each other, into a binary column, without a loop per piece.

    The content becomes a column in which every second element is a piece and the others what lies between.
    """
    count = len(starts)
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2] = starts
    offsets[1::2] = ends
    offsets[-1] = len(content)
    whole = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(content)])
    return whole.take(_every_second(count))


def nulled(column: Any, nulls: Any) -> Any:
    """Return a column with nulls where an array of booleans says so."""
    return pc.if_else(nulls if isinstance(nulls, pa.Array) else pa.array(nulls), pa.scalar(None, column.type), column)


def join(pieces: Sequence[Any], length: int) -> Any:
    """Return the pieces joined row by row as a binary column; a null in any of them makes a null.

    A piece is a column of binary or string, or bytes that are the same in every row.
    """
    merged: list[Any] = []
    for piece in pieces:
        if isinstance(piece, bytes) and merged and isinstance(merged[-1], bytes):
            merged[-1] += piece
        else:
            merged.append(piece)
    are_same = [isinstance(piece, bytes) for piece in merged]
    parts = [pa.scalar(each, _BYTES) if same else each.cast(_BYTES) for each, same in zip(merged, are_same)]
    if all(are_same):
        return pa.repeat(parts[0] if parts else _EMPTY, length)
    if len(parts) == 1:
        return parts[0]
    return pc.binary_join_element_wise(*parts, _EMPTY)


def rows_of(positions: Any, offsets: Any) -> Any:
    """Return the numbers of the rows that hold the bytes at the given positions, each once."""
    return np.unique(np.searchsorted(offsets, positions, side="right") - 1)


def replaced(column: Any, rows: Any, change: Callable[[Any], Any]) -> Any:
    """Return a column with a function applied to the texts of some rows, given by their ascending numbers."""
    if len(rows) == 0:
        return column
    mask = np.zeros(len(column), bool)
    mask[rows] = True
    before = column.filter(pa.array(mask)).to_pylist()
    after = pa.array([None if text is None else change(text) for text in before], column.type)
    return pc.replace_with_mask(column, pa.array(mask), after)


def as_string(texts: Any) -> Any:
    """Return a binary column that is known to be UTF-8 as strings, without copying or checking it."""
    return pa.Array.from_buffers(pa.string(), len(texts), texts.buffers(), texts.null_count, texts.offset)


@lru_cache(maxsize=16)
def _every_second(count: int) -> Any:
    return pa.array(np.arange(0, 2 * count, 2, dtype=np.int32))
