"""Reads JSON without schema into a column of JSON texts in the API's form.

Objects get the order of Java's hash tables, in which Kafka Connect writes them. One loop rewrites nearly all rows
(`hearth_api.layout.Rewriting`). The other rows, or all rows if the loop is not compiled, are parsed and written one by
one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.java import json_ordered
from hearth_api.layout import Rewriting, as_string, memory
from hearth_json.column_reader import Part
from hearth_json.leaf import without_null
from hearth_json.scan import deep_rows

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


class PlainReader:
    """Reads payloads without schema; leaves ambiguous rows to the plain form."""

    def __init__(self) -> None:
        """Prepare the loop."""
        self._rewriting = Rewriting()

    def parts(self, payloads: Any) -> tuple[list[Part], Any]:
        """Return the texts of the unambiguous rows, and the numbers of the rows that are not JSON."""
        texts, written, broken = self._rewriting.written(payloads)
        parts: list[Part] = [(np.flatnonzero(written), without_null(texts))]
        rows = np.flatnonzero(~(written | broken))
        if len(rows):
            found, column = _one_by_one(payloads if len(rows) == len(payloads) else payloads.take(pa.array(rows)))
            parts.append((rows[found], column))
        return parts, np.flatnonzero(broken)

    def broken(self, payloads: Any) -> Any:
        """Return a mask of the rows that are not JSON."""
        return self._rewriting.written(payloads).is_broken


def _one_by_one(payloads: Any) -> Part:
    """Return the texts of the rows that orjson reads and writes as the API does; the plain form reads the others."""
    rows: list[int] = []
    texts: list[bytes] = []
    odd = _odd_input(payloads)
    for row, payload in enumerate(payloads.to_pylist()):
        try:
            texts.append(orjson.dumps(json_ordered(orjson.loads(payload))))
            rows.append(row)
        except (ValueError, orjson.JSONEncodeError, RecursionError):
            continue  # left to the plain form
    read, column = np.array(rows, np.int64), pa.array(texts, pa.binary())
    sure = ~(odd[read] | _matches(column, _ODD) | _deep_rows(payloads)[read])
    return read[sure], without_null(as_string(column.filter(pa.array(sure))))


def _deep_rows(payloads: Any) -> Any:
    """Return a mask of the rows that may be nested deeper than Jackson reads."""
    mask = np.zeros(len(payloads), bool)
    mask[deep_rows(payloads)] = True
    return mask


def _odd_input(payloads: Any) -> Any:
    _, offsets = memory(payloads)
    return _matches(payloads, _ODD_INPUT if np.diff(offsets).max(initial=0) < _LONG else _ODD_LONG_INPUT)


def _matches(texts: Any, pattern: str) -> Any:
    return pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
