"""Calls of transformations and predicates: what a predicate says of each row comes back as a mask."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hearth_api.batch import Batch
from hearth_stage.call import decoded, encoded
from hearth_stage.transformation_call import AskPredicate, PredicateAnswers

ROWS = Batch(None, None, None, pa.RecordBatch.from_arrays([pa.array([0, 1], pa.int32())], names=["row"]))


def test_mask_travels_as_true_and_false() -> None:
    """One for each row."""
    members, batches = encoded(PredicateAnswers(pa.array([True, False])))
    assert members["mask"] == [True, False]
    answers = decoded(PredicateAnswers, members, batches)
    assert AskPredicate("p", ROWS).verify(answers).mask.equals(pa.array([True, False]))


@pytest.mark.parametrize("mask", [[1, 0], [True, None], "yes", None])
def test_what_is_no_mask_is_refused(mask: Any) -> None:
    """A plugin's truth is turned into one before it travels."""
    with pytest.raises(ValueError, match="a mask is a list of true and false"):
        decoded(PredicateAnswers, {"mask": mask}, [])


def test_mask_of_other_rows_is_refused() -> None:
    """Columns lie side by side, so each answer would be about another record (invariant 3)."""
    with pytest.raises(ValueError, match="answers for 1 rows of 2"):
        AskPredicate("p", ROWS).verify(PredicateAnswers(pa.array([True])))
