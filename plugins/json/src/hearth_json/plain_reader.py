"""JSON without schema to a column: the JSON text of every value, as the API keeps it.

Objects get the order of Java's hash tables, in which Kafka Connect would write them again. Most rows are written so in
one loop (`hearth_api.layout.Rewriting`).

Of those that it leaves out, or all where it is not compiled, most differ from others in their scalars alone. They are
read as one value (`hearth_api.layout`); where its objects are in order, and there is no space between the members, the
row is its own text.

Of the others many are parsed at once, with a mark between them that occurs in no row, so that a mark which the parser
finds between two values stands between two rows. The parsed values are written again: where the bytes are the same,
the row was its own text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.batch import UnlikeError
from hearth_api.java import json_ordered
from hearth_api.layout import Layouts, Rewriting, UniformRows, as_string, join, memory, to_texts
from hearth_json.column_reader import Part, clean_rows
from hearth_json.leaf import without_null
from hearth_json.scan import deep_rows, may_hold_odd_number

_MARK = "\x7f"
_BETWEEN = f',"{_MARK}",'.encode()
# In a text written anew: a number with an exponent or a tiny one, which orjson and Python print differently, an
# integer that may not fit, a negative zero, or a tag.
_ODD = (
    r"(?:^|[:,\[])(?:-?(?:[0-9]+(?:\.[0-9]+)?[eE]|0\.0000|[0-9]{19})|-0\.0(?:$|[,\]}]))"
    r'|\{"@'
)
# In the bytes that were read: an exponent, or so many digits that Jackson may have refused them. To be ready for these
# takes 0.3 ms, so a pattern of their own is for columns that have room for them.
_ODD_INPUT = r"[eE][-+]?[0-9]{3}"
_LONG = 500
_ODD_LONG_INPUT = rf"{_ODD_INPUT}|[0-9.]{{{_LONG}}}"
# So many rows and their values stay in the processor's cache.
_ROWS_AT_ONCE = 2000


class PlainReader:
    """Reads payloads without schema; rows it is not sure of it leaves to the plain form."""

    def __init__(self) -> None:
        """Know no layout yet."""
        self._rewriting = Rewriting()
        self._layouts = Layouts(are_foreign=True)

    def parts(self, payloads: Any) -> tuple[list[Part], list[UniformRows], Any]:
        """Return the texts of the rows it is sure of, of some what they hold, and which rows are no JSON."""
        texts, written, broken = self._rewriting.written(payloads)
        parts: list[Part] = [(np.flatnonzero(written), without_null(texts))]
        groups: list[UniformRows] = []
        left = ~(written | broken)
        if not left.any():
            return parts, groups, np.flatnonzero(broken)
        clean = clean_rows(payloads, *memory(payloads))
        for group in self._layouts.groups(payloads, left if clean is None else left & clean):
            value = json_ordered(group.value)
            try:
                texts = to_texts(value, len(group.rows))
            except UnlikeError:
                continue
            parts.append((group.rows, texts))
            left[group.rows] = False
            if not texts.null_count:
                groups.append(UniformRows(group.rows, value))
        rows = np.flatnonzero(left)
        others = payloads if len(rows) == len(payloads) else payloads.take(pa.array(rows))
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            found, column = _part(others.slice(first, _ROWS_AT_ONCE))
            parts.append((rows[found + first], column))
        return parts, groups, np.flatnonzero(broken)

    def broken(self, payloads: Any) -> Any:
        """Return a mask of rows that are no JSON, whatever else may be."""
        return self._rewriting.written(payloads).is_broken


def _part(payloads: Any) -> Part:
    joined = _joined(payloads)
    values = _parse_all(payloads, joined)
    try:
        if values is None:
            return _one_by_one(payloads)
        values[::2] = map(json_ordered, values[::2])
        written = orjson.dumps(values)
        if written == joined:
            texts, odd = payloads, None
        else:
            texts = pa.array(written[1:-1].split(_BETWEEN), pa.binary())
            odd = _odd_input(payloads)
    except (orjson.JSONEncodeError, RecursionError):  # nested deeper than orjson writes
        return _one_by_one(payloads)
    content, _ = memory(texts)
    if may_hold_odd_number(content):
        differs = _matches(texts, _ODD)
        odd = differs if odd is None else odd | differs
    return _sure_part(payloads, texts, odd)


def _joined(payloads: Any) -> bytes:
    """Return all rows as one JSON array, with the mark between any two."""
    rows = pa.ListArray.from_arrays(pa.array([0, len(payloads)], pa.int32()), payloads)
    whole: bytes = join([b"[", pc.binary_join(rows, pa.scalar(_BETWEEN, pa.binary())), b"]"], 1)[0].as_py()
    return whole


def _parse_all(payloads: Any, joined: bytes) -> list[Any] | None:
    """Return the values of all rows with the marks between them, None when a row is not exactly one value."""
    count = len(payloads)
    content, _ = memory(payloads)
    raw = content.tobytes()
    if b"\x7f" in raw or (b"\\" in raw and b"\\u007f" in raw.lower()):
        return None
    try:
        values: list[Any] = orjson.loads(joined)
    except ValueError:
        return None
    return values if len(values) == 2 * count - 1 and values[1::2] == [_MARK] * (count - 1) else None


def _one_by_one(payloads: Any) -> Part:
    rows: list[int] = []
    texts: list[bytes] = []
    odd = _odd_input(payloads)
    for row, payload in enumerate(payloads.to_pylist()):
        try:
            texts.append(orjson.dumps(json_ordered(orjson.loads(payload))))
            rows.append(row)
        except (ValueError, orjson.JSONEncodeError, RecursionError):
            continue  # for the plain form
    read = np.array(rows, np.int64)
    column = pa.array(texts, pa.binary())
    numbers, texts_left = _sure_part(payloads.take(pa.array(read)), column, odd[read] | _matches(column, _ODD))
    return read[numbers], texts_left


def _sure_part(payloads: Any, texts: Any, odd: Any) -> Part:
    deep = _deep_rows(payloads)
    if odd is None and deep is None:
        return np.arange(len(texts)), without_null(as_string(texts))
    sure = np.ones(len(texts), bool)
    for mask in (odd, deep):
        sure = sure if mask is None else sure & ~mask
    return np.flatnonzero(sure), without_null(as_string(texts.filter(pa.array(sure))))


def _deep_rows(payloads: Any) -> Any:
    """Tell which rows may be nested deeper than Jackson reads; None when none is."""
    deep = deep_rows(payloads)
    if not deep:
        return None
    mask = np.zeros(len(payloads), bool)
    mask[deep] = True
    return mask


def _odd_input(payloads: Any) -> Any:
    _, offsets = memory(payloads)
    return _matches(payloads, _ODD_INPUT if np.diff(offsets).max(initial=0) < _LONG else _ODD_LONG_INPUT)


def _matches(texts: Any, pattern: str) -> Any:
    return pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
