"""Errors of rows: all that fail are found at once, and the others go on as columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import OPTIONAL_STRING_SCHEMA, DataError, SchemaBuilder, Struct
from hearth_api.batch import Batch, values_to_column
from hearth_execution.order import number_rows
from hearth_transforms.cast import CastValue
from hearth_transforms.row_error import RowErrors, each
from tests.unit.plugins.two_forms import messages, transformed

TEXTS = st.none() | st.sampled_from(["1", "-7", "+5", "no", "", "2147483648", "9" * 30, "1.5", "٣"])
FIELDS = SchemaBuilder.struct().field("a", OPTIONAL_STRING_SCHEMA).field("b", OPTIONAL_STRING_SCHEMA).build()


def test_all_values_that_fail_are_named_together() -> None:
    """With the error of each; where none fails there is what the function makes of them."""

    def half(value: int) -> int:
        if value % 2:
            raise DataError(f"{value} is odd")
        return value // 2

    assert each(half, [2, 4]) == [1, 2]
    with pytest.raises(RowErrors, match="3 is odd") as caught:
        each(half, [2, 3, 4, 5])
    assert {place: str(error) for place, error in caught.value.errors.items()} == {1: "3 is odd", 3: "5 is odd"}


def cast(spec: str) -> CastValue:
    """Return a configured Cast."""
    made = CastValue()
    made.configure({"spec": spec})
    return made


def batch_of(schema: Any, values: list[Any]) -> Batch:
    """Return a numbered batch of values."""
    data = pa.RecordBatch.from_arrays([values_to_column(schema, values)], names=["value"])
    return number_rows(Batch("t", None, schema, data))


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=8))
def test_a_column_of_texts_is_cast_as_each_is(texts: list[str | None]) -> None:
    """Those that are no number fail alone, in Java's words; the column is asked once."""
    made, batch = cast("int32"), batch_of(OPTIONAL_STRING_SCHEMA, texts)
    asked: list[Any] = []
    vars(made)["apply"] = asked.append
    outcome = transformed(made, batch)
    fine = {"1": 1, "-7": -7, "+5": 5, "٣": 3}
    found = {
        row: value
        for part in outcome.batches
        for row, value in zip(part.column("row").to_pylist(), part.column("value").to_pylist(), strict=True)
    }
    assert found == {row: fine.get(text or "") for row, text in enumerate(texts) if text is None or text in fine}
    bad = {row: text for row, text in enumerate(texts) if text is not None and text not in fine}
    words = "Value ({}) was out of range for requested data type"
    assert messages(outcome.failures) == {row: words.format(text) for row, text in bad.items()}
    assert asked == []


def test_a_row_fails_by_the_first_of_its_fields() -> None:
    """As where its fields are cast one after the other; a row may fail by a later field than another."""
    rows = [("1", "2"), ("x", "y"), ("3", "z"), ("w", "4")]
    batch = batch_of(FIELDS, [Struct(FIELDS).put("a", one).put("b", other) for one, other in rows])
    outcome = transformed(cast("b:int32,a:int32"), batch)
    assert {row: text.split(")")[0][-1] for row, text in messages(outcome.failures).items()} == {
        1: "x",
        2: "z",
        3: "w",
    }
    (left,) = outcome.batches
    assert left.column("row").to_pylist() == [0]
