"""Columns of texts: what stands between the quotes of JSON strings, joined and scattered without a loop per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_json.literal import escape

_EMPTY = pa.scalar(b"", pa.binary())


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
    parts = [_scalar(piece) if isinstance(piece, bytes) else piece.cast(pa.binary()) for piece in merged]
    if all(isinstance(piece, bytes) for piece in merged):
        return pa.repeat(parts[0] if parts else _EMPTY, length)
    if len(parts) == 1:
        return parts[0]
    return pc.binary_join_element_wise(*parts, _EMPTY)


def scatter(texts: Any, column: Any, null_text: bytes) -> Any:
    """Return one text per row of a column with nulls, from the texts of the rows that are not null."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    places = pa.array(np.cumsum(valid) - 1, pa.int64(), mask=~valid)
    return pc.fill_null(texts.take(places), _scalar(null_text))


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


def rows_of(positions: Any, offsets: Any) -> Any:
    """Return the numbers of the rows that hold the bytes at the given positions, each once."""
    return np.unique(np.searchsorted(offsets, positions, side="right") - 1)


def escaped(column: Any) -> Any:
    """Return texts as they stand between the quotes of JSON strings; most columns need no change."""
    content, offsets = memory(column)
    if len(content) == 0:
        return column
    raw = content.tobytes()
    has_quote, has_backslash = b'"' in raw, b"\\" in raw
    # Bytes from 0xF0 on start the characters that Jackson writes as two escaped surrogates.
    if content.min() < 0x20 or content.max() >= 0xF0:
        odd = (content < 0x20) | (content >= 0xF0) | (content == 0x22) | (content == 0x5C)
        return replaced(column, rows_of(np.flatnonzero(odd), offsets), escape)
    if has_backslash:
        column = pc.replace_substring(column, "\\", "\\\\")
    return pc.replace_substring(column, '"', '\\"') if has_quote else column


def replaced(column: Any, rows: Any, change: Any) -> Any:
    """Return the column with a function applied to the texts of some rows, given by their ascending numbers."""
    if len(rows) == 0:
        return column
    mask = np.zeros(len(column), bool)
    mask[rows] = True
    before = column.filter(pa.array(mask)).to_pylist()
    after = pa.array([None if text is None else change(text) for text in before], column.type)
    return pc.replace_with_mask(column, pa.array(mask), after)


def _scalar(text: bytes) -> Any:
    return pa.scalar(text, pa.binary())
