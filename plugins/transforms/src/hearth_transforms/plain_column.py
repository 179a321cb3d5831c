"""Columns without schema, which hold the JSON text of every value: read, changed value by value, and written anew.

Most of them hold nothing but what JSON has. Those are read and written by orjson, which takes a sixth of the time of
the author API's own form; that form does the others, with values that JSON has no word for or numbers that orjson
prints in another way than Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.batch import Batch, Declined, column_to_values, plain_to_json, values_to_column
from hearth_transforms.side import Side
from hearth_transforms.struct_column import side_column

# A tag, a number with an exponent or a tiny one, an integer that may not fit, a negative zero.
_ODD = r'"@|[0-9][eE]|0\.0000|[0-9]{19}|-0\.0'
_MARK = "\x7f"
_BETWEEN = f',"{_MARK}",'.encode()
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS


def changed(side: Side, batch: Batch, change: Callable[[Any], Any]) -> list[Batch] | Declined:
    """Return the batch with what a function makes of each value of a side, null among them."""
    column = side_column(side, batch)
    return [side.replaced_column(batch, None, to_column(map(change, to_values(column))))]


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
