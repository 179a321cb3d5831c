"""Calls of transformations and predicates: the answers of a predicate return as a mask."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hearth_api.batch import Batch
from hearth_stage.call import decoded, encoded
from hearth_stage.transformation_call import AskPredicate, PredicateAnswers

ROWS = Batch(None, None, None, pa.RecordBatch.from_arrays([pa.array([0, 1], pa.int32())], names=["row"]))


def test_mask_is_sent_as_booleans() -> None:
    """One per row."""
    members, batches = encoded(PredicateAnswers(pa.array([True, False])))
    assert members["mask"] == [True, False]
    answers = decoded(PredicateAnswers, members, batches)
    assert AskPredicate("p", ROWS).verify(answers).mask.equals(pa.array([True, False]))


@pytest.mark.parametrize("mask", [[1, 0], [True, None], "yes", None])
def test_malformed_mask_is_rejected(mask: Any) -> None:
    """A plugin's truthy values are converted before they are sent."""
    with pytest.raises(ValueError, match="a mask is a list of true and false"):
        decoded(PredicateAnswers, {"mask": mask}, [])


def test_mask_of_another_length_is_rejected() -> None:
    """Answers match by position, so each would be about another record (invariant 3)."""
    with pytest.raises(ValueError, match="answers for 1 of 2 rows"):
        AskPredicate("p", ROWS).verify(PredicateAnswers(pa.array([True])))
