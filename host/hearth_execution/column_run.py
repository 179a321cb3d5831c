"""Runs: the converted values of a column grouped by schema, with their row numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hearth_api.batch import ColumnRun
from hearth_api.batch import arrow as pa


def by_schema(runs: Sequence[ColumnRun], count: int) -> list[ColumnRun]:
    """Return the values of ``count`` rows as one run per schema; a run lists its rows unless it has all of them.

    Raises ``ValueError`` if a row has no value or several: it would be lost or duplicated.
    """
    if len(runs) == 1 and runs[0].rows is None and len(runs[0].column) == count:
        return [*runs]
    kinds: dict[Any, list[ColumnRun]] = {}
    for run in _placed(runs, count):
        kinds.setdefault(run.schema, []).append(run)
    return [_joined(same, count) for same in kinds.values()]


def paired(
    keys: Sequence[ColumnRun], values: Sequence[ColumnRun], count: int
) -> Iterator[tuple[Any, ColumnRun, ColumnRun]]:
    """Yield the rows of each pair of key schema and value schema (``None`` for all rows), with a run of each.

    ``keys`` and ``values`` are results of ``by_schema``.
    """
    if len(keys) == len(values) == 1:
        yield None, keys[0], values[0]
    if not count or len(keys) == len(values) == 1:
        return
    import numpy as np  # only for several schemas

    (key_kinds, key_places), (value_kinds, value_places) = _kinds(keys, count), _kinds(values, count)
    pairs = key_kinds * len(values) + value_kinds
    order = np.argsort(pairs, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(pairs[order])) + 1):
        key, value = keys[key_kinds[rows[0]]], values[value_kinds[rows[0]]]
        yield rows, _some(key, key_places[rows]), _some(value, value_places[rows])


def _placed(runs: Sequence[ColumnRun], count: int) -> Iterator[ColumnRun]:
    """Yield the runs that have rows, with their rows filled in."""
    import numpy as np

    left, start = np.ones(count, bool), 0
    for run in runs:
        end = start + len(run.column)
        rows = np.arange(start, end) if run.rows is None else np.asarray(run.rows)
        start = end
        if not len(rows) == len(run.column) or (len(rows) and (rows[0] < 0 or (np.diff(rows) <= 0).any())):
            raise ValueError(f"a run lists {len(rows)} rows for {len(run.column)} values, or in the wrong order")
        if len(rows) and (rows[-1] >= count or not left[rows].all()):
            raise ValueError(f"runs list a row twice, or one outside the {count} rows of the batch")
        left[rows] = False
        if len(rows):
            yield replace(run, rows=rows)
    if left.any():
        raise ValueError(f"runs have values for {count - int(left.sum())} of {count} rows")


def _joined(runs: Sequence[ColumnRun], count: int) -> ColumnRun:
    if len(runs) > 1:
        import numpy as np

        rows = np.concatenate([run.rows for run in runs])
        column = pa.concat_arrays([run.column for run in runs])
        order = np.argsort(rows, kind="stable")
        runs = [ColumnRun(runs[0].schema, column.take(pa.array(order)), rows=rows[order])]
    return replace(runs[0], rows=None) if len(runs[0].column) == count else runs[0]


def _kinds(runs: Sequence[ColumnRun], count: int) -> tuple[Any, Any]:
    """Return for each row the index of its run, and its position there."""
    import numpy as np

    kinds, places = np.zeros(count, np.int64), np.arange(count)
    for kind, run in enumerate(runs):
        if run.rows is not None:
            kinds[run.rows], places[run.rows] = kind, np.arange(len(run.rows))
    return kinds, places


def _some(run: ColumnRun, places: Any) -> ColumnRun:
    """Return the values at ascending positions of a run."""
    if len(places) == len(run.column):
        return run
    return ColumnRun(run.schema, taken(run.column, places))


def taken(column: Any, places: Any) -> Any:
    """Return the values of an Arrow array at ascending positions; copies nothing if they are contiguous."""
    first, count = int(places[0]), len(places)
    return column.slice(first, count) if places[-1] - first + 1 == count else column.take(pa.array(places))
