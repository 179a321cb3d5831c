"""Chains, steps and guards; what plugins do in them is in ``tests/contract/test_place.py``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import STRING_SCHEMA, Batch
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.order import number_rows, rows_of
from hearth_execution.transformation import Guard, Outcome, Step, chain, steps_of, without


def batch(*values: str) -> Batch:
    """Return a numbered batch."""
    data = pa.RecordBatch.from_arrays([pa.array(values, pa.string())], names=["value"])
    return number_rows(Batch("t", None, STRING_SCHEMA, data))


def failure(row: int) -> Failure:
    """Return the failure of a row."""
    return Failure(row, "TRANSFORMATION", "some.Predicate", ErrorInfo("data", "E", "m", "t"))


def content(batches: list[Batch]) -> list[tuple[int, str]]:
    """Return row and value of every row."""
    return [
        pair for each in batches for pair in zip(rows_of(each).tolist(), each.column("value").to_pylist(), strict=True)
    ]


def marked(part: Batch) -> Outcome:
    """Transform a batch so that it shows."""
    values = pa.array([f"{value}!" for value in part.column("value").to_pylist()], pa.string())
    return Outcome([part.with_columns(value=values)])


def test_steps_are_read_from_a_request() -> None:
    """What is left out has its default; members of a later protocol are ignored."""
    forms: list[dict[str, Any]] = [
        {"role": "transforms.a"},
        {"role": "transforms.b", "predicate": "predicates.p", "negate": True, "later": 1},
    ]
    assert steps_of(forms) == [Step("transforms.a"), Step("transforms.b", "predicates.p", True)]


def test_chain_gives_each_step_what_the_one_before_left() -> None:
    """Batches that a step made go on one by one; failures add up; nothing goes on empty."""
    seen: list[list[tuple[int, str]]] = []

    def split(part: Batch) -> Outcome:
        seen.append(content([part]))
        return Outcome([part.slice(0, 1), part.slice(1, 0), part.slice(1)], [failure(9)])

    outcome = chain(batch("a", "b", "c"), [split, marked, split])
    assert content(outcome.batches) == [(0, "a!"), (1, "b!"), (2, "c!")]
    assert seen[1:] == [[(0, "a!")], [(1, "b!"), (2, "c!")]]
    assert len(outcome.failures) == 3
    assert all(each.num_rows for each in outcome.batches)


def test_chain_of_no_steps_changes_nothing() -> None:
    """A pipeline without transformations hands its batch on."""
    only = batch("a")
    assert chain(only, []).batches == [only]


def test_nothing_chosen_means_nothing_called() -> None:
    """A transformation is not bothered with rows its predicate leaves out."""
    guard = Guard(lambda part: (pa.array([False, False]), []), False, "some.Transformation")
    only = batch("a", "b")

    def transform(part: Batch) -> Outcome:
        raise AssertionError("called")

    assert guard.apply(only, transform).batches == [only]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["chosen", "other", "failed"]), max_size=12), st.booleans())
def test_guard_touches_the_chosen_rows_only(kinds: list[str], negate: bool) -> None:
    """Every row comes out in its place, changed or as it was; a row the predicate failed on is a failure."""

    def test(part: Batch) -> tuple[Any, list[Failure]]:
        values = part.column("value").to_pylist()
        mask = pa.array([value == "chosen" for value in values], pa.bool_())
        return mask, [failure(row) for row, value in enumerate(values) if value == "failed"]

    outcome = Guard(test, negate, "some.Transformation").apply(batch(*kinds), marked)
    expected = [
        (row, f"{kind}!" if (kind == "chosen") != negate else kind)
        for row, kind in enumerate(kinds)
        if kind != "failed"
    ]
    assert content([each for each in outcome.batches if each.num_rows]) == expected
    assert [each.row for each in outcome.failures] == [row for row, kind in enumerate(kinds) if kind == "failed"]
    assert {each.class_name for each in outcome.failures} <= {"some.Transformation"}


@pytest.mark.parametrize(("rows", "kept"), [([], [True, True, True]), ([1], [True, False, True])])
def test_mask_leaves_out_what_failed(rows: list[int], kept: list[bool]) -> None:
    """Rows are known by number, not by place."""
    assert without(batch("a", "b", "c"), [failure(row) for row in rows]).to_pylist() == kept
