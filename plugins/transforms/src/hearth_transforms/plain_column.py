"""Transforms columns without schema, which hold the JSON text of each value.

If members of maps are only moved, one loop rewrites the texts of all maps whatever their layout
(`hearth_api.layout.Rewriting`). If only a few members are read, the loop extracts these, and writes the changed ones
over the maps.

A function that changes one value changes all values of one layout (`hearth_api.layout`) in one call, with a
`ScalarColumn` for each scalar. Other values are changed one by one. Most of them are plain JSON that orjson reads and
writes in a sixth of the time of the author API's encoding; that encoding handles values without a JSON form and
numbers that orjson prints differently from Python.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import ConnectError
from hearth_api.batch import (
    Batch,
    LateErrors,
    PartlyFailed,
    UnlikeError,
    frameless,
    plain_from_json,
    plain_to_json,
    values_to_column,
)
from hearth_api.layout import (
    Layouts,
    Moves,
    Rewriting,
    UniformRows,
    are_few,
    as_string,
    constant,
    in_rows,
    join,
    to_texts,
)
from hearth_transforms.field_path import FieldPath
from hearth_transforms.row_error import RowErrors
from hearth_transforms.side import Side
from hearth_transforms.struct_column import side_column

# A tag, a number with an exponent or a tiny one, an integer that may not fit, a negative zero.
_ODD = r'"@|(?:^|[:,\[\s])-?(?:[0-9]+(?:\.[0-9]+)?[eE]|0\.0000|[0-9]{19}|0\.0(?:$|[,\]}\s]))'
_MARK = "\x7f"
_BETWEEN = f',"{_MARK}",'.encode()
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS


class AddedColumns:
    """Attributes that accompany the values of a column; none in this class."""

    def of_all(self, rows: Any) -> Any:
        """Return the attributes of the numbered rows together."""
        return None

    def of_each(self, rows: Any) -> Iterator[Any]:
        """Yield the attributes of each numbered row."""
        return itertools.repeat(None)


Rewrite = Callable[[Any], "tuple[Any, ...]"]
"""Rewrites texts of a column: returns those of some rows, and a mask of these rows."""


@dataclass(frozen=True)
class MapUse:
    """What a function does with maps, so that most of a map need not be read."""

    moves: Moves | None = None
    """The member moves, if it only moves members."""
    rewrite: Rewrite | None = None
    """What it does to the texts of maps."""
    touched: Collection[str] = ()
    """The members that it replaces in a copy of the map, if applying it to them alone and writing the result over the
    copy is equivalent."""
    read: Collection[str] = ()
    """The members on which its result depends, if it depends on no others."""
    is_within: bool = False
    """Whether it changes the value of the one touched member, and returns maps unchanged in which that is null."""

    @classmethod
    def reading(cls, paths: Iterable[FieldPath]) -> MapUse:
        """Return the use of a function that reads the fields at these paths."""
        steps = [path.steps for path in paths]
        return cls(read=tuple({each[0] for each in steps}) if all(steps) else ())


Change = Callable[[Any, Any], "tuple[Any, ...]"]
"""Transforms a value, given its row's attributes."""
_NOTHING = AddedColumns()
_UNKNOWN = MapUse()
_FIRST = np.arange(1)
_WORTH_OF_PARTS = 64
"""Parts are short, so that their layouts are worth a search even if few rows have each."""
_COPYING = Rewriting(Moves(is_copied=True))


class PlainColumns:
    """Transforms the values of columns, together where they share a layout."""

    def __init__(self) -> None:
        """Start without layouts."""
        self._layouts = Layouts()
        self._layouts_of_parts = Layouts(_WORTH_OF_PARTS)
        self._last: tuple[Moves, Rewriting] | None = None

    def changed(
        self,
        side: Side,
        batch: Batch,
        change: Callable[[Any, Any], Any],
        added: AddedColumns = _NOTHING,
        use: Callable[[Any], MapUse] = lambda _: _UNKNOWN,
    ) -> list[Batch] | PartlyFailed:
        """Return the batch with a function applied to each value of a side, including nulls.

        ``use`` returns how the function uses maps with the given attributes. A row for which the function raises is
        removed, and its error is returned with the batch.
        """
        errors = LateErrors()
        known = use(next(added.of_each(_FIRST))) if batch.num_rows else _UNKNOWN
        (made,) = self.made(side, batch, lambda value, own: (change(value, own),), 1, known, added, errors)
        changed = side.replaced_column(batch, None, made)
        if not errors:
            return [changed]
        is_kept = np.ones(batch.num_rows, bool)
        is_kept[list(errors)] = False
        return PartlyFailed([changed.filter(pa.array(is_kept))], errors)

    def made(
        self,
        side: Side,
        batch: Batch,
        change: Change,
        count: int,
        use: MapUse,
        added: AddedColumns = _NOTHING,
        errors: LateErrors | None = None,
    ) -> list[Any]:
        """Return one column for each value that a function returns for a value of a side.

        With ``errors``, a row for which it raises is null in all columns, and its error is added there.
        """
        column = side_column(side, batch)
        making = _Making(change, added, errors, len(column), count)
        left = np.ones(len(column), bool)
        rewrite = use.rewrite if use.moves is None else self._rewriting(use.moves).written
        if rewrite is not None:
            left[making.take_rewritten(column, rewrite)] = False
        elif use.touched or use.read:
            left[self._take_members(making, column, use)] = False
        for group in self._layouts.groups(column, left):
            left[making.take(group)] = False
        rows = np.flatnonzero(left)
        if len(rows):
            making.take_each(rows, to_values(_rows(column, rows)))
        return making.columns()

    def _take_members(self, making: _Making, column: Any, use: MapUse) -> Any:
        """Extract the touched or read members of maps, apply the function to them, and return the changed rows.

        Even if maps differ, their one or two members have few layouts.
        """
        names = use.touched or use.read
        moves = Moves(dict(zip(names, names)), keeps_others=False)
        parts, written, _ = self._rewriting(moves).written(column)
        rows = np.flatnonzero(written)
        if not len(rows):
            return rows
        done = rows[:0]
        if use.is_within and (absent := _absent(parts, *names)).any():
            making.keep(rows[absent], column)
            done, rows, parts = rows[absent], rows[~absent], parts.filter(pa.array(~absent))
        inner, left = making.of_part(len(rows)), np.ones(len(rows), bool)
        are_empty = pc.equal(parts, constant("{}")).to_numpy(zero_copy_only=False)
        groups = [UniformRows(np.flatnonzero(are_empty), {})] if are_empty.any() else []
        for group in itertools.chain(groups, self._layouts_of_parts.groups(parts, ~are_empty)):
            left[np.searchsorted(rows, inner.take(UniformRows(rows[group.rows], group.value)))] = False
        if left.any():
            inner.take_each(rows[left], to_values(parts.filter(pa.array(left))))
        put = making.put_over(column, rows, inner) if use.touched else making.put(rows, inner)
        return np.concatenate([done, put])

    def _rewriting(self, moves: Moves) -> Rewriting:
        """Return the cached rewriting for the moves."""
        if self._last is None or self._last[0] != moves:
            self._last = moves, Rewriting(moves)
        return self._last[1]


class _Making:
    """Columns under construction, each as parts for some rows, and the function that computes them."""

    def __init__(
        self, change: Change, added: AddedColumns, errors: LateErrors | None, rows: int, columns: int
    ) -> None:
        self._change, self._added, self._errors, self._rows = change, added, errors, rows
        self._parts: list[list[tuple[Any, Any]]] = [[] for _ in range(columns)]

    def columns(self) -> list[Any]:
        """Return the columns."""
        return [in_rows(self._rows, parts) for parts in self._parts]

    def take(self, group: UniformRows) -> Any:
        """Change a group and return the changed rows."""
        try:
            changed = self._change(group.value, self._added.of_all(group.rows))
            texts = [to_texts(value, len(group.rows)) for value in changed]
        except UnlikeError as error:
            parts = () if error.rows is None else (group.part(error.rows), group.part(~error.rows))
            taken = [self.take(part) for part in parts if not are_few(len(part.rows))]
            return np.concatenate([group.rows[:0], *taken])
        except RowErrors as failed:
            return group.rows[:0] if self._errors is None else self._take_others(group, failed.errors)
        except ConnectError:
            return group.rows[:0]  # the rows are changed one by one to find the error
        return self._put(group.rows, texts)

    def _take_others(self, group: UniformRows, errors: LateErrors) -> Any:
        """Record the errors of a group's rows, change the others, and return all of these rows."""
        assert self._errors is not None
        self._errors.add_part(errors, group.rows)
        are_left = np.ones(len(group.rows), bool)
        are_left[list(errors)] = False
        failed = group.rows[~are_left]
        self._put_nulls(failed)
        return np.concatenate([failed, self.take(group.part(are_left))]) if are_left.any() else failed

    def take_rewritten(self, column: Any, rewrite: Rewrite) -> Any:
        """Rewrite the texts of maps, and return the changed rows."""
        texts, written = rewrite(column)[:2]
        return self._put(np.flatnonzero(written), [texts])

    def of_part(self, count: int) -> _Making:
        """Return a new construction of ``count`` values with the same function."""
        return _Making(self._change, self._added, self._errors, count, len(self._parts))

    def keep(self, rows: Any, column: Any) -> None:
        """Take the values of some rows as they are."""
        self._put(rows, [_rows(column, rows)])

    def put(self, rows: Any, other: _Making) -> Any:
        """Take the columns of another construction for some rows; return these."""
        return self._put(rows, other.columns())

    def put_over(self, column: Any, rows: Any, other: _Making) -> Any:
        """Write members over the maps of some rows, null for failed ones; return the completed rows."""
        (over,) = other.columns()
        failed = rows[over.is_null().to_numpy(zero_copy_only=False)] if over.null_count else rows[:0]
        self._put_nulls(failed)
        texts, written, _ = _COPYING.written(_rows(column, rows), over)
        return np.concatenate([failed, self._put(rows[written], [texts])])

    def take_each(self, rows: Any, values: list[Any]) -> None:
        """Change values one by one."""
        found = []
        for row, value, own in zip(rows.tolist(), values, self._added.of_each(rows)):
            try:
                found.append(self._change(value, own))
            except ConnectError as error:
                if self._errors is None:
                    raise
                self._errors[row] = frameless(error)
                found.append((None,) * len(self._parts))
        self._put(rows, map(to_column, zip(*found)))

    def _put(self, rows: Any, columns: Iterable[Any]) -> Any:
        for parts, column in zip(self._parts, columns):
            parts.append((rows, column))
        return rows

    def _put_nulls(self, rows: Any) -> None:
        self._put(rows, itertools.repeat(pa.nulls(len(rows), pa.string())))


def _absent(parts: Any, name: str) -> Any:
    """Return a mask of the texts in which the one member is missing or null."""
    absent = pc.is_in(parts, pa.array(["{}", f"{{{plain_to_json(name)}:null}}"]))
    return absent.to_numpy(zero_copy_only=False)


def _rows(column: Any, rows: Any) -> Any:
    return column if len(rows) == len(column) else column.take(pa.array(rows))


def wrapped(column: Any, name: str) -> Any:
    """Return each value of a column as the only member of an object; the name must not be a tag."""
    pieces = [f"{{{plain_to_json(name)}:".encode(), column.fill_null(constant("null")), b"}"]
    return as_string(join(pieces, len(column)))


def to_values(column: Any) -> list[Any]:
    """Return the values of a column."""
    texts, odd = column.to_pylist(), _odd_rows(column)
    of_odd = [plain_from_json(texts[row]) for row in odd]
    for row in odd:
        texts[row] = None
    values = [None if text is None else orjson.loads(text) for text in texts]
    for row, value in zip(odd, of_odd):
        values[row] = value
    return values


def to_column(values: Iterable[Any]) -> Any:
    """Encode values as a column: they are written together and split at separators."""
    found = list(values)
    marked: list[Any] = [_MARK] * (2 * len(found) - 1)
    marked[::2] = found
    try:
        written = orjson.dumps(marked, option=_OPTIONS)
        texts: list[Any] = written[1:-1].split(_BETWEEN)
        if len(texts) != len(found):
            raise ValueError("the mark stands in a value")
    except (TypeError, ValueError):  # orjson knows no such value, or it holds the mark
        return values_to_column(None, found)
    if b"null" in written:
        texts = [_checked(value, text) if b"null" in text else text for value, text in zip(found, texts)]
    column = pa.array(texts, pa.string())
    if not (odd := _odd_rows(column)):
        return column
    for row in odd:
        texts[row] = plain_to_json(found[row])
    return pa.array(texts, pa.string())


def _checked(value: Any, text: bytes) -> bytes | str | None:
    """Return the text of a value that orjson wrote with a null, which may denote a non-finite number."""
    return None if value is None else text if _is_finite(value) else plain_to_json(value)


def _odd_rows(column: Any) -> list[int]:
    """Return the rows that orjson and the API read or write differently."""
    rows: list[int] = pc.indices_nonzero(pc.match_substring_regex(column, _ODD)).to_pylist()
    return rows


def _is_finite(value: Any) -> bool:
    """Return whether all numbers in a value are finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list) else True
