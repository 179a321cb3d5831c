"""Converts values without schema from their JSON to lines, in one compiled loop.

Values without a JSON form, such as times, are converted separately, as are all values if the loop is not compiled;
values with the same layout are converted together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import DataError, Schema, Timestamp, is_logical
from hearth_api.batch import ScalarColumn, UnlikeError, column_to_values
from hearth_api.java import java_text
from hearth_api.layout import Layouts, as_string, constant, in_rows, java_lines, join
from hearth_file.moment import moments


class PlainLines:
    """Converts columns without schema to lines, and remembers the layouts of values with times."""

    def __init__(self) -> None:
        """Start without layouts."""
        self._layouts = Layouts()

    def of(self, column: Any) -> Any:
        """Return Java's text of each value of a column; raise DataError for a value that Python cannot hold."""
        texts = column.fill_null(constant("null"))
        lines, written = java_lines(texts)
        rows = np.flatnonzero(~written)
        if not len(rows):
            return lines
        parts = [(rows[numbers], made) for numbers, made in self._looked_at(_rows(texts, rows))]
        return in_rows(len(texts), [(np.flatnonzero(written), lines), *parts])

    def _looked_at(self, texts: Any) -> Iterator[tuple[Any, Any]]:
        """Return the lines and row numbers of values that are not plain JSON."""
        left = np.ones(len(texts), bool)
        for group in self._layouts.groups(texts):
            try:
                lines = as_string(join(list(_pieces(group.value)), len(group.rows)))
            except (DataError, UnlikeError):
                continue
            left[group.rows] = False
            yield group.rows, lines
        rows = np.flatnonzero(left)
        values = column_to_values(None, _rows(texts, rows))
        # An unpaired surrogate has no UTF-8; Java writes a question mark as well.
        yield rows, as_string(pa.array([java_text(each).encode("utf-8", "replace") for each in values], pa.binary()))


def _rows(texts: Any, rows: Any) -> Any:
    return texts if len(rows) == len(texts) else texts.take(pa.array(rows))


def _pieces(value: Any) -> Iterator[Any]:
    """Return the constant texts and columns of texts that make up the line of a value."""
    if isinstance(value, ScalarColumn):
        yield from _printed(value)
        return
    is_map = isinstance(value, dict)
    names = [f"{name}=" for name in value] if is_map else [""] * len(value)
    yield b"{" if is_map else b"["
    for number, (name, item) in enumerate(zip(names, value.values() if is_map else value)):
        yield f"{', ' if number else ''}{name}".encode()
        yield from _pieces(item)
    yield b"}" if is_map else b"]"


def _printed(many: ScalarColumn) -> list[Any]:
    if many.is_text:
        return [many.words()]
    return many.pieces() if many.is_plain else _times(*many.column())


def _times(schema: Schema, column: Any) -> list[Any]:
    """Return the parts of times as Java prints them, to the second."""
    if not is_logical(schema):
        raise UnlikeError("not printed as JSON has it")
    if schema is Timestamp.SCHEMA and not column.null_count:
        return moments(column.to_numpy())
    encoded = column.dictionary_encode()
    texts = [java_text(value) for value in column_to_values(schema, encoded.dictionary)]
    return [pa.array(texts, pa.string()).take(encoded.indices)]
