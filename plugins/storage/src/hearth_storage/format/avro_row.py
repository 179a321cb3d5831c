"""Finds where records end in the blocks of an Avro file, which do not tell: by skipping the fields of each record.

Many blocks are skipped at once, a record of each in every round, with a few array operations for each field. Few
blocks, and records with arrays or maps, are skipped one record at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from hearth_api import DataError
from hearth_registry.avro_input import Cursor
from hearth_registry.avro_skip import Skipping
from hearth_registry.avro_type import AvroType
from hearth_registry.payload_block import UnsuitedError
from hearth_registry.payload_cursor import Rows, Source, unsigned

_FEW_BLOCKS = 24
"""Fewer blocks are skipped faster one record at a time."""
_WIDTHS = {"null": 0, "boolean": 1, "float": 4, "double": 8}
_MOST_VARINT = 10

Skip = Callable[[Rows], None]


class RowFinder:
    """Finds the records of one schema."""

    def __init__(self, avro: AvroType) -> None:
        """Select what skips each part of the schema."""
        self._one_by_one = Skipping().skip(avro)
        try:
            self._skip: Skip | None = _skip(avro, 0)
        except UnsuitedError:
            self._skip = None

    def offsets(self, counts: Sequence[int], blocks: Sequence[bytes]) -> Any:
        """Return where each record begins in the joined blocks, and where the last one ends: an array of int32."""
        if self._skip is not None and len(blocks) >= _FEW_BLOCKS:
            try:
                found = self._in_rounds(self._skip, counts, blocks)
            except (UnsuitedError, IndexError):
                found = None  # damaged, which the other way tells
            if found is not None:
                return found
        starts = accumulate(map(len, blocks), initial=0)
        parts = [self._in_turn(*each) for each in zip(counts, blocks, starts)]
        return np.concatenate([*parts, [sum(map(len, blocks))]]).astype(np.int32)

    def _in_turn(self, count: int, block: bytes, start: int) -> Any:
        cursor, found = Cursor(block), np.empty(count, np.int64)
        try:
            for row in range(count):
                found[row] = cursor.pos
                self._one_by_one(cursor)
        except IndexError as error:
            raise DataError("the Avro file is damaged: a block ends within a record") from error
        if cursor.pos != len(block):
            raise DataError(f"the Avro file is damaged: {len(block) - cursor.pos} bytes follow the records of a block")
        return found + start

    @staticmethod
    def _in_rounds(skip: Skip, counts: Sequence[int], blocks: Sequence[bytes]) -> Any:
        """Skip a record of each block in every round; None if a block does not end where its last record does."""
        numbers, ends = np.array(counts), np.cumsum([len(each) for each in blocks])
        order = np.argsort(-numbers, kind="stable")
        starts = np.concatenate([[0], ends[:-1]])
        rows = Rows(Source(np.frombuffer(b"".join(blocks), np.uint8)), starts[order])
        found = np.empty((int(numbers.max()), len(blocks)), np.int64)
        left = np.searchsorted(-numbers[order], -np.arange(len(found)), side="left")  # blocks with a record more
        for number, count in enumerate(left.tolist()):
            found[number, order[:count]] = rows.at[:count]
            part = Rows(rows.source, rows.at[:count])
            skip(part)
            rows.at[:count] = part.at
        if (rows.at != ends[order]).any():
            return None
        is_row = np.arange(len(found))[:, None] < numbers
        return np.concatenate([found.T[is_row.T], ends[-1:]]).astype(np.int32)


def _skip(avro: AvroType, depth: int) -> Skip:
    """Return what skips a value in each row; raises UnsuitedError for arrays, maps and recursion."""
    if avro.kind in _WIDTHS or avro.kind == "fixed":
        return _ahead(avro.size if avro.kind == "fixed" else _WIDTHS[avro.kind])
    if avro.kind in ("int", "long", "enum"):
        return _number
    if avro.kind in ("bytes", "string"):
        return _sized
    if avro.kind == "union":
        return _union([_skip(each, depth + 1) for each in avro.branches])
    if avro.kind != "record" or depth > _MOST_VARINT:
        raise UnsuitedError
    parts = [_skip(each.type, depth + 1) for each in avro.fields]

    def skip(rows: Rows) -> None:
        for part in parts:
            part(rows)

    return skip


def _ahead(width: int) -> Skip:
    def skip(rows: Rows) -> None:
        rows.at = rows.at + width

    return skip


def _number(rows: Rows) -> None:
    unsigned(rows, _MOST_VARINT)


def _sized(rows: Rows) -> None:
    sizes = unsigned(rows, _MOST_VARINT)
    rows.at = rows.at + (sizes >> np.uint64(1)).astype(np.int64)
    if rows.at.max(initial=0) > rows.source.size:
        raise UnsuitedError


def _union(branches: list[Skip]) -> Skip:
    def skip(rows: Rows) -> None:
        chosen = unsigned(rows, _MOST_VARINT) >> np.uint64(1)
        for number, branch in enumerate(branches):
            mask = chosen == number
            part = rows.part(mask)
            if len(part):
                branch(part)
                rows.join(mask, part)

    return skip
