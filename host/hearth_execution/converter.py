"""Runs key and value converters on columns.

Each is called in batch form if it has one that accepts the column, value by value otherwise. A failed row leaves a
null, which the pipeline removes, and an entry among the failures.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

from hearth_api import Converter, PluginError, SchemaAndValue, needs_records
from hearth_api.batch import (
    BatchConverter,
    ColumnRun,
    column_to_values,
    values_to_column,
)
from hearth_api.batch import arrow as pa
from hearth_execution.column_run import by_schema
from hearth_execution.failure import Failure
from hearth_execution.plugins import Attempts, Plugins
from hearth_execution.raw_header import HeaderRows, from_headers, to_headers

_NULL = SchemaAndValue(None, None)


class Converters:
    """Runs the converters among loaded plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def serialize(
        self, role: str, topic: str, schema: Any, column: Any, rows: Any, headers: HeaderRows
    ) -> tuple[Any, list[Failure]]:
        """Convert a column of Connect data to bytes.

        ``headers`` holds the headers of the Kafka records by position in the column; changes by a converter are stored
        there.
        """
        attempts = self._plugins.attempts(role)
        converter: Converter = self._plugins[role]
        if isinstance(converter, BatchConverter):
            return _serialize_column(converter, attempts, topic, schema, column, rows, headers), attempts.failures
        return _serialize_values(converter, attempts, topic, schema, column, rows, headers), attempts.failures

    def deserialize(
        self, role: str, topic: str, data: Any, rows: Any, headers: HeaderRows
    ) -> tuple[list[ColumnRun], list[Failure]]:
        """Convert bytes to runs of Connect data; ``headers`` holds the records' headers by position."""
        attempts = self._plugins.attempts(role)
        converter: Converter = self._plugins[role]
        if isinstance(converter, BatchConverter) and not headers.has_any(converter.header_names):
            return _deserialize_column(converter, attempts, topic, data, rows, headers), attempts.failures
        return _deserialize_values(converter, attempts, topic, data, rows, headers), attempts.failures


def _serialize_column(
    converter: BatchConverter,
    attempts: Attempts,
    topic: str,
    schema: Any,
    column: Any,
    rows: Any,
    headers: HeaderRows,
) -> Any:
    def run() -> Any:
        return NotImplemented if needs_records(schema) else converter.from_connect_batch(topic, schema, column)

    def accept(cells: Any, _: Any) -> Any:
        _check_length("from_connect_batch", len(cells), len(column))
        return cells if cells.type == pa.binary() else cells.cast(pa.binary())

    def by_records() -> Any:
        return _serialize_values(converter, attempts, topic, schema, column, rows, headers)

    return attempts.at_once(rows, run, accept, by_records)


def _serialize_values(
    converter: Converter,
    attempts: Attempts,
    topic: str,
    schema: Any,
    column: Any,
    rows: Any,
    headers: HeaderRows,
) -> Any:
    def read(start: int, size: int) -> list[Any]:
        return column_to_values(schema, column.slice(start, size))

    def convert(item: tuple[int, Any]) -> bytes | None:
        position, value = item
        raw = headers[position]
        own = to_headers(raw)
        data = converter.from_connect_data(topic, schema, value, own)
        if (changed := from_headers(own)) != raw:
            headers[position] = changed
        return data

    values = chain.from_iterable(attempts.in_halves(rows, read, [None]))
    return pa.array(attempts.one_by_one(rows, convert, enumerate(values), None), pa.binary())


def _deserialize_column(
    converter: BatchConverter, attempts: Attempts, topic: str, data: Any, rows: Any, headers: HeaderRows
) -> list[ColumnRun]:
    def run() -> Any:
        return converter.to_connect_batch(topic, data)

    def accept(runs: list[ColumnRun], _: Any) -> list[ColumnRun]:
        return by_schema(runs, len(data))

    def by_records() -> list[ColumnRun]:
        return _deserialize_values(converter, attempts, topic, data, rows, headers)

    return attempts.at_once(rows, run, accept, by_records)


def _deserialize_values(
    converter: Converter,
    attempts: Attempts,
    topic: str,
    data: Any,
    rows: Any,
    headers: HeaderRows,
) -> list[ColumnRun]:
    def convert(item: tuple[int, bytes | None]) -> SchemaAndValue:
        position, cell = item
        return converter.to_connect_data(topic, cell, to_headers(headers[position]))

    cells = attempts.one_by_one(rows, convert, enumerate(data.to_pylist()), _NULL)

    def collect(start: int, size: int) -> list[ColumnRun]:
        return _runs(cells, range(start, start + size))

    failed = len(attempts.failures)
    nothing: list[ColumnRun] = []
    runs = list(chain.from_iterable(attempts.in_halves(rows, collect, nothing)))
    if len(attempts.failures) > failed:
        left = sorted({*range(len(cells))}.difference(*(run.rows for run in runs)))
        runs.append(ColumnRun(None, pa.nulls(len(left), pa.string()), rows=left))
    return by_schema(runs, len(cells))


def _runs(cells: list[SchemaAndValue], places: Iterable[int]) -> list[ColumnRun]:
    """Return the converted values at some positions, as one run per schema."""
    kinds: dict[Any, list[int]] = {}
    for place in places:
        kinds.setdefault(cells[place].schema, []).append(place)
    return [
        ColumnRun(schema, values_to_column(schema, [cells[place].value for place in own]), rows=own)
        for schema, own in kinds.items()
    ]


def _check_length(method: str, found: int, wanted: int) -> None:
    """Raise unless there is one result per row: a shorter column would lose records (invariant 3)."""
    if found != wanted:
        raise PluginError(f"{method} returned {found} values for {wanted} rows")
