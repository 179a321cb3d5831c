"""Columns without schema, which hold the JSON text of every value: changed many at a time, or read and written anew.

What changes one value changes many that are laid out alike (`hearth_api.layout`): it is called once, with a
`Many` in the place of each scalar. The others are changed value by value. Most of these hold nothing but what JSON has
and are read and written by orjson, which takes a sixth of the time of the author API's own form; that form does the
rest, with values that JSON has no word for or numbers that orjson prints in another way than Python.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import ConnectError
from hearth_api.batch import Batch, PartlyFailed, UnlikeError, column_to_values, plain_to_json, values_to_column
from hearth_api.layout import Alike, Grouped, GroupedParts, Layouts, as_string, constant, join, to_texts
from hearth_transforms.side import Side
from hearth_transforms.struct_column import side_column

# A tag, a number with an exponent or a tiny one, an integer that may not fit, a negative zero.
_ODD = r'"@|[0-9][eE]|0\.0000|[0-9]{19}|-0\.0'
_MARK = "\x7f"
_BETWEEN = f',"{_MARK}",'.encode()
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS


class Beside:
    """What there is beside the values of a column: nothing."""

    def of_all(self, rows: Any) -> Any:
        """Return what stands for all of some rows, given by their numbers."""
        return None

    def of_each(self, rows: Any) -> Iterator[Any]:
        """Return what there is of each of some rows."""
        return itertools.repeat(None)


Change = Callable[[Any, Any], "tuple[Any, ...]"]
"""What makes others of a value; it comes with what there is beside it."""
_NOTHING = Beside()


class PlainColumns:
    """Changes the values of columns, many at a time where they are laid out alike."""

    def __init__(self) -> None:
        """Know no layout yet."""
        self._layouts = Layouts()

    def changed(
        self, side: Side, batch: Batch, change: Callable[[Any, Any], Any], beside: Beside = _NOTHING
    ) -> list[Batch] | PartlyFailed:
        """Return the batch with what a function makes of each value of a side, null among them.

        A row for which it raises is left out, and its error stands beside the batch.
        """
        errors: dict[int, Exception] = {}
        (made,) = self.made(side, batch, lambda value, own: (change(value, own),), 1, beside, errors)
        changed = side.regrouped(batch, made)
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
        beside: Beside = _NOTHING,
        errors: dict[int, Exception] | None = None,
    ) -> list[Grouped]:
        """Return as many columns as a function makes values of each value of a side.

        With ``errors``, a row for which it raises is null in all of them, and its error is put in there.
        """
        column = side_column(side, batch)
        left = np.ones(len(column), bool)
        columns = [GroupedParts(len(column)) for _ in range(count)]
        for group in self._layouts.groups(column, known=batch.groups(side.name)):
            try:
                values = change(group.value, beside.of_all(group.rows))
                texts = [to_texts(value, len(group.rows)) for value in values]
            except (ConnectError, UnlikeError):
                continue  # what is wrong with which, they are asked one by one
            for made, value, part in zip(columns, values, texts):
                made.add_alike(Alike(group.rows, value), part)
            left[group.rows] = False
        rows = np.flatnonzero(left)
        if len(rows):
            others = to_values(column if len(rows) == len(column) else column.take(pa.array(rows)))
            found = []
            for row, value, own in zip(rows.tolist(), others, beside.of_each(rows)):
                try:
                    found.append(change(value, own))
                except ConnectError as error:
                    if errors is None:
                        raise
                    errors[row] = error
                    found.append((None,) * count)
            for made, values_of_rows in zip(columns, zip(*found)):
                made.add(rows, to_column(values_of_rows))
        return [made.grouped() for made in columns]


def wrapped(column: Any, name: str) -> Any:
    """Return the values of a column as the one member of objects; the name is none of a tag."""
    pieces = [f"{{{plain_to_json(name)}:".encode(), column.fill_null(constant("null")), b"}"]
    return as_string(join(pieces, len(column)))


def to_values(column: Any) -> list[Any]:
    """Return the values of a column."""
    if _is_odd(column):
        return column_to_values(None, column)
    return [None if text is None else orjson.loads(text) for text in column.cast(pa.binary()).to_pylist()]


def to_column(values: Iterable[Any]) -> Any:
    """Return values as a column."""
    found = list(values)
    try:
        column = pa.array(_texts(found), pa.string())
    except (TypeError, ValueError):  # orjson knows no such value, or it holds the mark
        return values_to_column(None, found)
    return values_to_column(None, found) if _is_odd(column) else column


def _texts(values: list[Any]) -> list[Any]:
    """Return the texts of values, which are written at once and cut at the marks between them."""
    marked: list[Any] = [_MARK] * (2 * len(values) - 1)
    marked[::2] = values
    texts: list[Any] = orjson.dumps(marked, option=_OPTIONS)[1:-1].split(_BETWEEN)
    if len(texts) != len(values):
        raise ValueError("the mark stands in a value")
    if None in values:
        texts = [None if value is None else text for value, text in zip(values, texts)]
    for place, text in enumerate(texts):
        if text is not None and b"null" in text and not _is_finite(values[place]):
            texts[place] = plain_to_json(values[place])
    return texts


def _is_odd(column: Any) -> bool:
    return pc.any(pc.match_substring_regex(column, _ODD)).as_py() is True


def _is_finite(value: Any) -> bool:
    """Tell whether no number in a value is one for which JSON has no word but null."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return all(map(_is_finite, value)) if isinstance(value, list) else True
