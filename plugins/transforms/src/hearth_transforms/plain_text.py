"""Reads and writes the values of columns without schema, together where orjson knows them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.batch import plain_from_json, plain_to_json, values_to_column

# A tag, a number with an exponent or a tiny one, an integer that may not fit, a negative zero.
_ODD = r'"@|(?:^|[:,\[\s])-?(?:[0-9]+(?:\.[0-9]+)?[eE]|0\.0000|[0-9]{19}|0\.0(?:$|[,\]}\s]))'
_MARK = "\x7f"
_BETWEEN = f',"{_MARK}",'.encode()
_OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS


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
