"""Errors of rows: all failing rows are found at once, and the others stay columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import OPTIONAL_STRING_SCHEMA, DataError, SchemaBuilder, Struct
from hearth_api.batch import Batch, LateErrors, PartlyFailed, records_to_batches, values_to_column
from hearth_api.layout import template
from hearth_execution.order import number_rows
from hearth_transforms.cast import CastValue
from hearth_transforms.row_error import RowErrors, each, error_of
from tests.unit.plugins.transforms.sample import check_forms, numbered, sink_record
from tests.unit.plugins.two_forms import messages, transformed

TEXTS = st.none() | st.sampled_from(["1", "-7", "+5", "no", "", "2147483648", "9" * 30, "1.5", "٣"])
FIELDS = SchemaBuilder.struct().field("a", OPTIONAL_STRING_SCHEMA).field("b", OPTIONAL_STRING_SCHEMA).build()
INNER = SchemaBuilder.struct().optional().field("b", OPTIONAL_STRING_SCHEMA).build()
OUTER = SchemaBuilder.struct().optional().field("a", INNER).field("c", OPTIONAL_STRING_SCHEMA).build()
NUMBERS = st.sampled_from(["1", "-7", "300", "12"])
WORDS = st.sampled_from(["no 5", "five", "", "x" * 5000, "größe", "1\n", 'one"two'])
ODD = st.sampled_from(
    [" 4", "+5", "007", "٣", "\U0001d7d7", "9" * 19, "9" * 5000, "1.5", "NaN", "-Infinity", "0x1p3", ".5f"]
)
TYPES = st.sampled_from(["int8", "int32", "int64", "float32", "float64", "boolean"])


def test_all_values_that_fail_are_named_together() -> None:
    """Each with its error; without errors the results are returned."""

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


def test_errors_are_created_on_demand() -> None:
    """A text that cannot be a number fails without a cast; the cast's message is built on demand."""
    made = cast("n:int32")
    batch = batch_of(None, [{"n": "no number"}, {"n": 5}] * 50)
    found = made.apply_batch(batch)
    assert isinstance(found, PartlyFailed)
    assert isinstance(found.errors, LateErrors)
    assert (sorted(found.errors), found.errors.made) == ([*range(0, 100, 2)], {})
    assert str(found.errors[2]) == "Value (no number) was out of range for requested data type"


def test_a_value_that_does_not_fail_has_no_error() -> None:
    """To ask for one is a mistake of the plugin."""
    with pytest.raises(AssertionError, match="'5' does not fail"):
        error_of(int, "5")


def rows_of_texts(data: st.DataObject, other: st.SearchStrategy[Any]) -> list[Any]:
    """Draw objects whose members are numbers as texts, words, both or others, absent, null, or no objects at all."""
    kinds = data.draw(st.lists(st.sampled_from([NUMBERS, WORDS, ODD, st.none(), other]), min_size=1, max_size=4))
    texts = st.one_of(kinds)
    inner = st.none() | st.fixed_dictionaries({"b": texts}) | st.fixed_dictionaries({"b": texts})
    return data.draw(st.lists(st.fixed_dictionaries({"a": inner, "c": texts}), min_size=1, max_size=25))


@pytest.mark.parametrize("few", [2, 9])
@settings(deadline=None)
@given(data=st.data(), inner=TYPES, outer=TYPES)
def test_rows_of_maps_fail_as_they_do_alone(few: int, data: st.DataObject, inner: str, outer: str) -> None:
    """By the same field and in the same words, where some are numbers and others are not, in fields and deeper."""
    made = CastValue()
    made.configure({"spec": f"a.b:{inner},c:{outer}", "field.syntax.version": "V2"})
    other = st.integers(-(1 << 70), 1 << 70) | st.floats() | st.booleans() | st.just([1]) | st.binary(max_size=3)
    rows = [value if data.draw(st.integers(0, 9)) else {"c": value["c"]} for value in rows_of_texts(data, other)]
    (batch,) = records_to_batches([sink_record(None, value) for value in rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template, "FEW", few)
        check_forms(made, numbered(batch))


@settings(deadline=None)
@given(data=st.data(), inner=TYPES, outer=TYPES)
def test_rows_of_structs_fail_as_they_do_alone(data: st.DataObject, inner: str, outer: str) -> None:
    """So they do behind rows whose inner struct is null, and among null values."""
    made = CastValue()
    made.configure({"spec": f"a.b:{inner},c:{outer}", "field.syntax.version": "V2"})
    records = []
    for value in rows_of_texts(data, st.just("null")):
        within = None if value["a"] is None else Struct(INNER).put("b", value["a"]["b"])
        struct = Struct(OUTER).put("a", within).put("c", value["c"])
        records.append(sink_record(OUTER, struct if data.draw(st.integers(0, 9)) else None))
    (batch,) = records_to_batches(records)
    check_forms(made, numbered(batch))
