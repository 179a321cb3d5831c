"""Runs: values by schema, each with its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import INT64_SCHEMA, STRING_SCHEMA, Schema
from hearth_api.batch import ColumnRun, values_to_column
from hearth_execution.column_run import by_schema, paired, taken
from tests.unit.run_order import values_in_order

SCHEMAS: list[Schema | None] = [STRING_SCHEMA, INT64_SCHEMA, None]


def run(schema: Schema | None, rows: Any, names: list[int]) -> ColumnRun:
    """Return a run whose values identify their rows, with or without row numbers."""
    values = [row if schema is INT64_SCHEMA else f"v{row}" for row in names]
    return ColumnRun(schema, values_to_column(schema, values), rows=rows)


def in_turn(kinds: list[int]) -> list[ColumnRun]:
    """Return one run per row, without row numbers."""
    return [run(SCHEMAS[kind], None, [row]) for row, kind in enumerate(kinds)]


def named(kinds: list[int]) -> list[ColumnRun]:
    """Return one run per schema, with row numbers."""
    rows = {kind: [row for row, each in enumerate(kinds) if each == kind] for kind in sorted({*kinds})}
    return [run(SCHEMAS[kind], np.array(own), own) for kind, own in rows.items()]


KINDS = st.lists(st.integers(0, 2), max_size=30)


@settings(deadline=None)
@given(KINDS)
def test_each_schema_becomes_one_run(kinds: list[int]) -> None:
    """Whether there was a run per change of schema or per schema; every value keeps its row."""
    for runs in (in_turn(kinds), named(kinds)):
        found = by_schema(runs, len(kinds))
        assert values_in_order(found) == values_in_order(runs)
        assert len(found) == len({*kinds})
        assert all((each.rows is None) == (len(found) == 1) for each in found)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=30))
def test_keys_and_values_of_a_row_stay_together(kinds: list[tuple[int, int]]) -> None:
    """There is one part per pair of schemas, with ascending rows."""
    count = len(kinds)
    keys = by_schema(named([key for key, _ in kinds]), count)
    values = by_schema(named([value for _, value in kinds]), count)
    found: dict[int, Any] = {}
    parts = list(paired(keys, values, count))
    for rows, key, value in parts:
        places = range(count) if rows is None else rows.tolist()
        assert list(places) == sorted(places)
        whole = zip(places, values_in_order([plain(key)]), values_in_order([plain(value)]), strict=True)
        found |= {row: (own, other) for row, own, other in whole}
    assert len(parts) == len({*kinds})
    assert found == dict(enumerate(zip(values_in_order(keys), values_in_order(values), strict=True)))


def plain(part: ColumnRun) -> ColumnRun:
    """Return a run without row numbers."""
    return ColumnRun(part.schema, part.column)


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        ([run(None, None, [0])], "values for 1 of 3 rows"),
        ([run(None, None, [0, 1]), run(None, None, [2, 3])], "a row twice, or one outside the 3"),
        ([run(None, [0, 1], [0, 1]), run(STRING_SCHEMA, [1, 2], [1, 2])], "a row twice"),
        ([run(None, [0, 1, 3], [0, 1, 3])], "outside the 3"),
        ([run(None, [-1, 0, 1], [0, 0, 1])], "in the wrong order"),
        ([run(None, [1, 0, 2], [1, 0, 2])], "in the wrong order"),
        ([run(None, [0, 1], [0, 1, 2])], "2 rows for 3 values"),
    ],
)
def test_runs_with_missing_or_duplicate_rows_are_rejected(runs: list[ColumnRun], says: str) -> None:
    """The row would be lost or duplicated."""
    with pytest.raises(ValueError, match=says):
        by_schema(runs, 3)


def test_contiguous_rows_are_not_copied() -> None:
    """A slice shares the memory of its column."""
    column = pa.array(range(10), pa.int64())
    assert taken(column, np.array([3, 4, 5])).buffers()[1].address == column.buffers()[1].address
    assert taken(column, np.array([3, 5])).to_pylist() == [3, 5]
