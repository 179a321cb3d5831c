"""Converts columns with several schemas or nulls: the rows of each schema are converted together."""

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
"""Upper bound of a value's length; without an end Arrow fails to slice columns of more than a few rows."""
MOST_KINDS = 64
"""Maximum schemas of a batch; beyond it rows are read one by one."""


def write_with_nulls(writer: RegistryWriter, topic: str, schema: Schema | None, column: Any) -> Any:
    """Return the bytes of a column; nulls stay null if they are written as records without value."""
    if not column.null_count or not writer.null_is_tombstone(schema):
        return writer.write_column(topic, schema, column) if len(column) else pa.array([], pa.binary())
    present = column.drop_null()
    if not len(present):
        return pa.nulls(len(column), pa.binary())
    cells = writer.write_column(topic, schema, present)
    return NotImplemented if cells is NotImplemented else _spread(cells, column)


def _spread(cells: Any, like: Any) -> Any:
    """Spread cells over the rows where a column has values; the others are null."""
    places = like.is_valid().to_numpy(zero_copy_only=False)
    positions = np.cumsum(places) - 1
    return cells.take(pa.array(positions, mask=~places))


class MixedColumnReader:
    """Reads columns of bytes."""

    def __init__(self, reader: RegistryReader) -> None:
        """Use the given reader of single rows."""
        self._reader = reader

    def runs(self, topic: str, data: Any) -> Any:
        """Return the values as runs of one schema; `NotImplemented` if rows must be read one by one.

        The latter applies if the format requires it, if rows do not start with a schema id, and for too many schemas.
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
        """Yield each schema with its row numbers and payloads; None if that fails.

        All rows of a schema start with the same bytes, which are taken from its first row.
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
    """Return the numbers of the remaining rows that start with a prefix."""
    if not prefix:
        return np.flatnonzero(left)
    begin = pc.starts_with(data, pattern=prefix)
    if begin.null_count == 0 and begin.true_count == len(data):
        return np.flatnonzero(left)
    return np.flatnonzero(pc.fill_null(begin, False).to_numpy(zero_copy_only=False) & left)
