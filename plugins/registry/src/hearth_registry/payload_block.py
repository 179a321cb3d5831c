"""Encodes columns as bytes, all rows at once.

A row is a sequence of parts. Numbers and other short parts are written to one block of bytes for all rows, at offsets
computed from the sizes of the preceding rows; strings stay in place, and Arrow joins them with the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.layout import join, memory, number_type

_MOST_BYTES = (1 << 31) - 1
_ONES = np.uint64(0x7F)


class UnsuitedError(Exception):
    """The column form does not support the values; the plain form writes them or raises the error."""


@dataclass(frozen=True)
class Block:
    """Bytes of every row: their sizes, and a function that writes them into a numpy array at given offsets."""

    sizes: Any
    put: Callable[[Any, Any], None]


Piece = Any
"""A block, or a binary column without nulls."""
Make = Callable[[Any, Any], list[Piece]]
"""Encodes a column to pieces; the second argument is the mask of present rows, None for all."""


def varint_block(rest: Any, rows: Any) -> Block:
    """Return the block of varints of unsigned 64-bit numbers in a numpy array."""
    sizes = np.ones(len(rest), np.int32)
    most = int(rest.max()) if len(rest) else 0
    count = max(1, -(-most.bit_length() // 7))
    for number in range(1, count):
        sizes += rest >= np.uint64(1 << (7 * number))
    if rows is not None:
        sizes[~rows] = 0

    def put(out: Any, at: Any) -> None:
        left = rest
        for number in range(count):
            byte = (left & _ONES).astype(np.uint8)
            byte |= (sizes > number + 1).view(np.uint8) << 7
            if number == 0 and rows is None:
                out[at] = byte
            else:
                has = sizes > number
                out[at[has] + number] = byte[has]
            left = left >> np.uint64(7)

    return Block(sizes, put)


def valid(column: Any) -> Any:
    """Return for each row whether it is not null."""
    return column.is_valid().to_numpy(zero_copy_only=False)


def constant_block(content: bytes, length: int, rows: Any) -> Block:
    """Return the block of constant bytes in every row or in some rows."""
    sizes = np.full(length, len(content), np.int32) if rows is None else rows * np.int32(len(content))

    def put(out: Any, at: Any) -> None:
        places = at if rows is None else at[rows]
        for number, byte in enumerate(content):
            out[places + number] = byte

    return Block(sizes, put)


def byte_block(content: Any, rows: Any) -> Block:
    """Return the block of one byte a row."""
    return matrix_block(content.reshape(-1, 1), rows)


def matrix_block(content: Any, rows: Any) -> Block:
    """Return the block of fixed-size rows from a two-dimensional array."""
    width = content.shape[1]
    sizes = np.full(len(content), width, np.int32) if rows is None else rows * np.int32(width)

    def put(out: Any, at: Any) -> None:
        places, found = (at, content) if rows is None else (at[rows], content[rows])
        for number in range(width):
            out[places + number] = found[:, number]

    return Block(sizes, put)


def joined(pieces: list[Piece], length: int) -> Any:
    """Concatenate the pieces of each row to a binary column; adjacent blocks are merged."""
    columns: list[Any] = []
    blocks: list[Block] = []
    for piece in pieces:
        if isinstance(piece, Block):
            blocks.append(piece)
            continue
        columns += [column_of(blocks, length)] if blocks else []
        columns.append(piece)
        blocks = []
    columns += [column_of(blocks, length)] if blocks else []
    return join(columns, length)


def column_of(blocks: list[Block], length: int) -> Any:
    """Return blocks as a binary column."""
    sizes = np.zeros(length, np.int32)
    for block in blocks:
        sizes += block.sizes
    ends = np.zeros(length + 1, np.int64)
    np.cumsum(sizes, out=ends[1:])
    if ends[-1] > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"{ends[-1]} bytes are too many for one column")
    out = np.empty(int(ends[-1]), np.uint8)
    at = ends[:-1].copy()
    for block in blocks:
        block.put(out, at)
        at += block.sizes
    return binary_of(ends, out)


def binary_of(ends: Any, content: Any) -> Any:
    """Return bytes with the end offset of each row as a binary column."""
    buffers = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, buffers)


def numbers_of(column: Any) -> Any:
    """Return the numbers of a column; null rows have arbitrary values."""
    dtype = number_type(column.type)
    return np.frombuffer(column.buffers()[1] or b"", dtype)[column.offset : column.offset + len(column)]


def contents_of(column: Any, rows: Any) -> tuple[Any, Any]:
    """Return strings or bytes as a binary column with nulls as empty values, and the sizes."""
    if rows is not None:
        column = pc.if_else(pa.array(rows), column, pa.scalar("" if column.type == pa.string() else b"", column.type))
    _, offsets = memory(column)
    _, ends, content = column.buffers()
    bare = pa.Array.from_buffers(pa.binary(), len(column), [None, ends, content], 0, column.offset)
    return bare, np.diff(offsets)
