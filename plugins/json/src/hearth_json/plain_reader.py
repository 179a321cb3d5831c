"""Reads JSON without schema into a column of JSON texts in the API's form.

Objects get the order of Java's hash tables, in which Kafka Connect writes them. One loop rewrites most rows
(`hearth_api.layout.Rewriting`).

Most of the remaining rows, or of all rows if the loop is not compiled, share a layout and differ only in scalars. They
are read as one value (`hearth_api.layout`); if its objects are in order and without white space, the row needs no
change.

The other rows are parsed together, with a separator that occurs in no row, so that a separator between two parsed
values separates two rows. The values are serialised again: if the bytes are equal, the row needs no change.
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
# In a serialised text: a number with an exponent or a tiny one, which orjson and Python print differently, an
# integer that may not fit, a negative zero, or a tag.
_ODD = (
    r"(?:^|[:,\[])(?:-?(?:[0-9]+(?:\.[0-9]+)?[eE]|0\.0000|[0-9]{19})|-0\.0(?:$|[,\]}]))"
    r'|\{"@'
)
# In the input bytes: an exponent, or so many digits that Jackson may refuse them. Compiling this takes 0.3 ms, so a
# separate pattern is used for columns that are long enough.
_ODD_INPUT = r"[eE][-+]?[0-9]{3}"
_LONG = 500
_ODD_LONG_INPUT = rf"{_ODD_INPUT}|[0-9.]{{{_LONG}}}"
# This many rows and their values fit the processor's cache.
_ROWS_AT_ONCE = 2000


class PlainReader:
    """Reads payloads without schema; leaves ambiguous rows to the plain form."""

    def __init__(self) -> None:
        """Start without layouts."""
        self._rewriting = Rewriting()
        self._layouts = Layouts(are_foreign=True)

    def parts(self, payloads: Any) -> tuple[list[Part], list[UniformRows], Any]:
        """Return the texts of the unambiguous rows, the known layouts of some rows, and which rows are not JSON."""
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
        """Return a mask of the rows that are not JSON."""
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
    """Return all rows as one JSON array, with the separator between any two."""
    rows = pa.ListArray.from_arrays(pa.array([0, len(payloads)], pa.int32()), payloads)
    whole: bytes = join([b"[", pc.binary_join(rows, pa.scalar(_BETWEEN, pa.binary())), b"]"], 1)[0].as_py()
    return whole


def _parse_all(payloads: Any, joined: bytes) -> list[Any] | None:
    """Return the values of all rows with the separators between them, None if a row is not exactly one value."""
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
            continue  # left to the plain form
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
    """Return which rows may be nested deeper than Jackson reads; None if none is."""
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
