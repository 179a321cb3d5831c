"""Columns whose rows are of several schemas, or of none: each schema's rows go through its format together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Schema
from hearth_api.batch import ColumnRun, arrow_type
from hearth_registry.registry_reader import RegistryReader
from hearth_registry.registry_writer import RegistryWriter
from hearth_registry.wire_format import PrefixError, SchemaId

_LONGEST = 2**31 - 1
"""No value of a column is longer. Without an end Arrow fails to cut columns of more than a few rows."""
MOST_KINDS = 64
"""A batch with more schemas than this is read row by row."""


def write_with_nulls(writer: RegistryWriter, topic: str, schema: Schema | None, column: Any) -> Any:
    """Return the bytes of a column; its nulls become nulls where that is what they are written as."""
    if not column.null_count or not writer.null_is_tombstone(schema):
        return writer.write_column(topic, schema, column) if len(column) else pa.array([], pa.binary())
    present = column.drop_null()
    if not len(present):
        return pa.nulls(len(column), pa.binary())
    cells = writer.write_column(topic, schema, present)
    return NotImplemented if cells is NotImplemented else _spread(cells, column)


def _spread(cells: Any, like: Any) -> Any:
    """Return cells at the places where a column has values, null at the others."""
    places = like.is_valid().to_numpy(zero_copy_only=False)
    positions = np.cumsum(places) - 1
    return cells.take(pa.array(positions, mask=~places))


class MixedColumnReader:
    """Reads columns of bytes."""

    def __init__(self, reader: RegistryReader) -> None:
        """Read with what reads single rows."""
        self._reader = reader

    def runs(self, topic: str, data: Any) -> Any:
        """Return the values as runs of one schema; `NotImplemented` where rows have to be read one by one.

        That is so where the format says it, where rows do not begin with a schema's id, and where there are too many
        schemas.
        """
        if not len(data):
            return []
        runs = []
        for schema_id, rows, payloads in self._by_schema(data.cast(pa.binary())):
            if schema_id is None:
                return NotImplemented
            reader, column = self._reader.read_column(topic, schema_id, payloads)
            if column is NotImplemented:
                return NotImplemented
            runs.append(ColumnRun(reader.schema, column, rows=rows))
        if data.null_count:
            nulls = np.flatnonzero(data.is_null().to_numpy(zero_copy_only=False))
            runs.append(ColumnRun(None, pa.nulls(len(nulls), arrow_type(None)), rows=nulls))
        return runs

    def _by_schema(self, data: Any) -> Iterator[tuple[SchemaId | None, Any, Any]]:
        """Yield the schemas rows are of, the numbers of these rows, and their payloads; None where that fails.

        All rows of a schema begin with the same bytes, so one of them shows which these are.
        """
        left = data.is_valid().to_numpy(zero_copy_only=False)
        for _ in range(MOST_KINDS):
            if not left.any():
                return
            first = data[int(np.argmax(left))].as_py()
            try:
                schema_id, end = self._reader.prefix(first)
            except PrefixError:
                yield None, None, None
                return
            rows = _beginning(data, first[:end], left)
            left[rows] = False
            mine = data if len(rows) == len(data) else data.take(pa.array(rows))
            yield schema_id, rows, pc.binary_slice(mine, end, _LONGEST) if end else mine
        if left.any():
            yield None, None, None


def _beginning(data: Any, prefix: bytes, left: Any) -> Any:
    """Return the numbers of the rows among those left that begin with a prefix."""
    if not prefix:
        return np.flatnonzero(left)
    begin = pc.starts_with(data, pattern=prefix)
    if begin.null_count == 0 and begin.true_count == len(data):
        return np.flatnonzero(left)
    return np.flatnonzero(pc.fill_null(begin, False).to_numpy(zero_copy_only=False) & left)
