"""Row attributes that InsertField inserts into maps, read for one row or many rows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from hearth_api import INT32_SCHEMA, INT64_SCHEMA, Schema
from hearth_api.batch import Batch, ScalarColumn, UnlikeError
from hearth_api.layout import ScalarsOfColumn
from hearth_transforms.attribute import Row
from hearth_transforms.plain_making import AddedColumns

_COLUMNS = (("partition", INT32_SCHEMA), ("offset", INT64_SCHEMA), ("timestamp", INT64_SCHEMA))


class RowColumns(AddedColumns):
    """The attributes of the rows of a batch."""

    def __init__(self, batch: Batch) -> None:
        """Keep the batch."""
        self._batch = batch

    def of_all(self, rows: Any) -> Row:
        """Return a row that holds the attributes of many rows."""
        found = self._columns(rows)
        return Row(self._batch.topic, *(_many(schema, column) for (_, schema), column in zip(_COLUMNS, found)))

    def of_each(self, rows: Any) -> Iterator[Row]:
        """Yield the rows one by one."""
        found = [itertools.repeat(None) if column is None else column.to_pylist() for column in self._columns(rows)]
        return map(Row, itertools.repeat(self._batch.topic), *found)

    def _columns(self, rows: Any) -> list[Any]:
        columns = (self._batch.column(name) for name, _ in _COLUMNS)
        return [column if column is None else column.take(pa.array(rows)) for column in columns]


def _many(schema: Schema, column: Any) -> ScalarColumn | None:
    if column is None or column.null_count == len(column):
        return None
    if column.null_count:
        raise UnlikeError("some rows lack an attribute", column.is_null().to_numpy(zero_copy_only=False))
    return ScalarsOfColumn(schema, column)
