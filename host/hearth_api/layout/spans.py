"""Cuts pieces of text out of columns and joins them to columns, without a loop per row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BYTES = pa.binary()
_EMPTY = pa.scalar(b"", _BYTES)
_MOST_BYTES = (1 << 31) - 1


@lru_cache(maxsize=256)
def constant(text: str) -> Any:
    """Return a text as an Arrow scalar.

    Given a Python string, Arrow's functions check each time whether pandas is installed, which takes 0.1 ms.
    """
    return pa.scalar(text, pa.string())


def number_type(type_: Any) -> Any:
    """Return the numpy type of an Arrow number type; before Arrow 26, Arrow's own conversion needs pandas."""
    kind = "f" if pa.types.is_floating(type_) else "u" if pa.types.is_unsigned_integer(type_) else "i"
    return np.dtype(f"{kind}{type_.bit_width // 8}")


def memory(column: Any) -> tuple[Any, Any]:
    """Return the bytes of a binary or string column as numpy array, from its first row to its last, and the offsets.

    There is one more offset than rows, and the first is 0.
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


@dataclass(frozen=True)
class Spans:
    """Texts of rows as ranges from `starts` to `ends` of a numpy array of bytes, not copied."""

    content: Any
    starts: Any
    ends: Any

    def part(self, mask: Any) -> Spans:
        """Return those selected by a mask."""
        return Spans(self.content, self.starts[mask], self.ends[mask])

    def column(self) -> Any:
        """Copy them into a binary column."""
        return join([self], len(self.starts))


def chosen(texts: Sequence[bytes], places: Any) -> Any:
    """Return a piece that is, in each row, one of some texts, chosen by its index; usually there is only one text."""
    if len({*texts}) == 1:
        return texts[0]
    content, offsets = memory(pa.array(texts, _BYTES))
    return Spans(content, offsets[:-1][places], offsets[1:][places])


def nulled(column: Any, nulls: Any) -> Any:
    """Return a column with nulls where an array of booleans is true."""
    return pc.if_else(nulls if isinstance(nulls, pa.Array) else pa.array(nulls), pa.scalar(None, column.type), column)


def join(pieces: Sequence[Any], length: int) -> Any:
    """Return the pieces joined row by row as a binary column; a null in any of them makes a null.

    A piece is a column of binary or string, `Spans`, or bytes that are the same in every row.
    """
    merged = _merged(pieces)
    if any(isinstance(piece, Spans) for piece in merged):
        return _gathered(merged, length)
    are_same = [isinstance(piece, bytes) for piece in merged]
    parts = [pa.scalar(each, _BYTES) if same else each.cast(_BYTES) for each, same in zip(merged, are_same)]
    if all(are_same):
        return pa.repeat(parts[0] if parts else _EMPTY, length)
    if len(parts) == 1:
        return parts[0]
    return pc.binary_join_element_wise(*parts, _EMPTY)


def _merged(pieces: Sequence[Any]) -> list[Any]:
    """Return the pieces with adjacent constants merged."""
    merged: list[Any] = []
    for piece in pieces:
        if isinstance(piece, bytes) and merged and isinstance(merged[-1], bytes):
            merged[-1] += piece
        else:
            merged.append(piece)
    return merged


def _gathered(pieces: Sequence[Any], length: int) -> Any:
    """Return the pieces joined by copying each once, which for spans takes half as long as cutting and joining.

    They are copied piece by piece, so a row ends where its last piece does.
    """
    count = len(pieces)
    places = [_where(piece) for piece in pieces]
    size = sum(_size(starts, ends, length) for _, starts, ends in places)
    if size > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"texts of {size} bytes are too many for one column")
    addresses = [address_of(content) for content, _, _ in places]
    base = min(addresses)
    edges = np.empty(2 * count * length + 1, np.int64)
    for number, (address, (_, starts, ends)) in enumerate(zip(addresses, places)):
        np.add(starts, address - base, out=edges[2 * number : -1 : 2 * count])
        np.add(ends, address - base, out=edges[2 * number + 1 :: 2 * count])
    _, offsets, data = copied(base, edges, size).buffers()
    row_ends = np.frombuffer(offsets, np.int64, count * length + 1)[::count].astype(np.int32)
    return pa.Array.from_buffers(_BYTES, length, [_validity(pieces), pa.py_buffer(row_ends), data])


def _size(starts: Any, ends: Any, length: int) -> int:
    """Return the total number of bytes of a piece over all rows."""
    return length * (ends - starts) if isinstance(ends, int) else int((ends - starts).sum())


def address_of(content: Any) -> int:
    """Return the address of a numpy array's bytes."""
    address: int = content.__array_interface__["data"][0]
    return address


def copied(base: int, edges: Any, size: int) -> Any:
    """Copy pieces of memory at any addresses, `size` bytes in total, into one column.

    Every pair of edges, int32 for binary or int64 for large binary, gives the start and the end of a piece relative to
    the address `base`; one additional edge is a placeholder, which is overwritten. An Arrow array is a buffer with
    offsets into it: here the buffer is all memory from `base` on, and every second element is a piece. `take` copies
    only those and never reads between them (decision 0018). It reserves memory by the mean size of all elements, which
    it derives from the last offset. That offset is set to what the pieces need: with less, Arrow copies them again
    whenever they outgrow the buffer, and with more, to give back the rest (0074).
    """
    type_ = pa.large_binary() if edges.dtype == np.int64 else _BYTES
    count = len(edges) // 2
    if count == 0:
        return pa.array([], type_)
    edges[-1] = last = min(int(edges[0]) + 2 * (size + 1), np.iinfo(edges.dtype).max)
    buffers = [None, pa.py_buffer(edges), pa.foreign_buffer(base, last)]
    return pc.take(pa.Array.from_buffers(type_, 2 * count, buffers), _evens(count), boundscheck=False)


def _where(piece: Any) -> tuple[Any, Any, Any]:
    """Return the content of a piece, and its start and end in each row, or in all rows."""
    if isinstance(piece, Spans):
        return piece.content, piece.starts, piece.ends
    if isinstance(piece, bytes):
        return np.frombuffer(piece, np.uint8), 0, len(piece)
    content, offsets = memory(piece)
    return content, offsets[:-1], offsets[1:]


def _validity(pieces: Sequence[Any]) -> Any:
    """Return the bits of the rows in which no piece is null, None if there are no nulls."""
    columns = [piece for piece in pieces if isinstance(piece, pa.Array) and piece.null_count]
    if not columns:
        return None
    valid = [each.is_valid().to_numpy(zero_copy_only=False) for each in columns]
    return pa.array(np.all(valid, axis=0)).buffers()[1]


def rows_of(positions: Any, offsets: Any) -> Any:
    """Return the distinct numbers of the rows that contain the bytes at the given positions."""
    return np.unique(np.searchsorted(offsets, positions, side="right") - 1)


def replaced(column: Any, rows: Any, change: Callable[[Any], Any]) -> Any:
    """Return a column with a function applied to the texts of some rows, given by ascending numbers."""
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


def _evens(count: int) -> Any:
    """Return the first `count` even numbers as an Arrow array."""
    return _even_numbers(1 << count.bit_length()).slice(0, count)


@lru_cache(maxsize=2)
def _even_numbers(count: int) -> Any:
    return pa.array(np.arange(0, 2 * count, 2, dtype=np.int32))
