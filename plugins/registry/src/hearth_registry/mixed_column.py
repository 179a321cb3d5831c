"""Converts columns with several schemas or nulls: the rows of each schema are converted together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Schema, needs_records
from hearth_api.batch import ColumnRun, LateErrors, PartlyFailed, arrow_type, frameless, values_to_column
from hearth_registry.registry_reader import RegistryReader
from hearth_registry.registry_writer import RegistryWriter
from hearth_registry.schema_format import PayloadReader
from hearth_registry.wire_format import GUID_MAGIC, GUID_PREFIX, ID_MAGIC, ID_PREFIX, PrefixError, SchemaId

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
        """Return the values as runs of one schema, and the errors of failed rows.

        Returns `NotImplemented` if all rows have to be read one by one, or if there are too many schemas.
        """
        if not len(data):
            return []
        data, errors, runs = data.cast(pa.binary()), LateErrors(), []
        for schema_id, rows, payloads in self._by_schema(topic, data, errors):
            if schema_id is None:
                return NotImplemented
            try:
                reader, column = self._reader.read_column(topic, schema_id, payloads)
            except DataError as error:
                for row in rows.tolist():
                    errors[row] = frameless(error)
                continue
            if column is NotImplemented and (len(rows) == len(data) or needs_records(reader.schema)):
                return NotImplemented
            if column is NotImplemented or column is None:
                column, rows = self._readable(topic, schema_id, reader, rows, payloads, errors)
            runs.append(ColumnRun(reader.schema, column, rows=rows))
        empty = data.is_null().to_numpy(zero_copy_only=False)
        empty[list(errors)] = True
        if empty.any():
            rows = np.flatnonzero(empty)
            runs.append(ColumnRun(None, pa.nulls(len(rows), arrow_type(None)), rows=rows))
        return PartlyFailed(runs, errors) if errors else runs

    def _by_schema(self, topic: str, data: Any, errors: LateErrors) -> Iterator[tuple[SchemaId | None, Any, Any]]:
        """Yield each schema with its row numbers and payloads; None if that fails. Adds rows without schema to errors.

        All rows of a schema start with the same bytes, which are taken from its first row.
        """
        left = data.is_valid().to_numpy(zero_copy_only=False)
        if self._reader.has_prefixes:
            lost = left & ~_has_prefix(data)
            errors.add(np.flatnonzero(lost), lambda row: self._reader.prefix_error(topic, data[row].as_py()))
            left = left & ~lost
        for _ in range(MOST_KINDS):
            if not left.any():
                return
            row = int(np.argmax(left))
            first = data[row].as_py()
            try:
                schema_id, end = self._reader.prefix(first)
            except PrefixError:
                errors[row] = self._reader.prefix_error(topic, first)
                left[row] = False
                continue
            rows = _beginning(data, first[:end], left)
            left[rows] = False
            mine = data if len(rows) == len(data) else data.take(pa.array(rows))
            yield schema_id, rows, pc.binary_slice(mine, end, _LONGEST) if end else mine
        if left.any():
            yield None, None, None

    def _readable(
        self, topic: str, schema_id: SchemaId, reader: PayloadReader, rows: Any, payloads: Any, errors: LateErrors
    ) -> tuple[Any, Any]:
        """Read the values of a schema one by one; return the readable ones with their row numbers, add the errors."""
        values, places = [], []
        for place, payload in enumerate(payloads.to_pylist()):
            value = self._reader.value_or_error(topic, schema_id, reader, payload)
            if isinstance(value, DataError):
                errors[int(rows[place])] = value
            else:
                values.append(value)
                places.append(place)
        return values_to_column(reader.schema, values), rows[places]


def _has_prefix(data: Any) -> Any:
    """Return for each row, as a numpy array, whether it starts with a schema's id or GUID."""
    size = pc.binary_length(data)
    is_there = [
        pc.and_(pc.starts_with(data, pattern=bytes([magic])), pc.greater_equal(size, length))
        for magic, length in ((ID_MAGIC, ID_PREFIX), (GUID_MAGIC, GUID_PREFIX))
    ]
    return pc.fill_null(pc.or_(*is_there), False).to_numpy(zero_copy_only=False)


def _beginning(data: Any, prefix: bytes, left: Any) -> Any:
    """Return the numbers of the remaining rows that start with a prefix."""
    if not prefix:
        return np.flatnonzero(left)
    begin = pc.starts_with(data, pattern=prefix)
    if begin.null_count == 0 and begin.true_count == len(data):
        return np.flatnonzero(left)
    return np.flatnonzero(pc.fill_null(begin, False).to_numpy(zero_copy_only=False) & left)
