"""Values of runs, put into the order of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearth_api import Schema
from hearth_api.batch import ColumnRun, column_to_values


def values_in_order(runs: Sequence[ColumnRun]) -> list[tuple[Schema | None, Any]]:
    """Return schema and value of every row, by its place; each place has one value."""
    found: dict[int, tuple[Schema | None, Any]] = {}
    for run in runs:
        values = column_to_values(run.schema, run.column)
        rows = range(len(found), len(found) + len(values)) if run.rows is None else map(int, run.rows)
        for row, value in zip(rows, values, strict=True):
            assert row not in found
            found[row] = run.schema, value
    assert sorted(found) == list(range(len(found)))
    return [found[row] for row in sorted(found)]
