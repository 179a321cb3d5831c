"""Nulls in NOT NULL columns of a DataFrame, at any depth."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hearth.datasource.not_null import NotNull, NullFound

TEXT = pa.string()
SURE = pa.field("sure", TEXT, nullable=False)


def one(type_: pa.DataType, values: list[Any], *, nullable: bool = True) -> None:
    """Check a column of a schema that has no other."""
    NotNull(pa.schema([pa.field("c", type_, nullable=nullable)])).check([pa.array(values, type_)])


@pytest.mark.parametrize(
    ("type_", "values", "place"),
    [
        (TEXT, ["a", None], "c"),
        (pa.struct([SURE]), [{"sure": "a"}, {"sure": None}], "c.sure"),
        (pa.struct([pa.field("in", pa.struct([SURE]))]), [{"in": None}, {"in": {"sure": None}}], "c.in.sure"),
        (pa.list_(SURE), [["a"], [None]], "c[]"),
        (pa.list_(pa.struct([SURE])), [[], None, [{"sure": None}]], "c[].sure"),
        (pa.map_(TEXT, pa.field("value", TEXT, nullable=False)), [[("k", None)]], "c[]"),
    ],
)
def test_forbidden_null_is_an_error_with_its_place(type_: pa.DataType, values: list[Any], place: str) -> None:
    """By the place it has in the column."""
    with pytest.raises(NullFound, match=rf"null as {place.replace('[]', '..')}, which"):
        one(type_, values, nullable=type_ != TEXT)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (TEXT, [None]),
        (pa.struct([SURE]), [None, {"sure": "a"}]),
        (pa.list_(SURE), [None, [], ["a"]]),
        (pa.map_(TEXT, TEXT), [None, [("k", None)]]),
        (pa.map_(TEXT, pa.struct([SURE])), [[("k", None), ("l", {"sure": "a"})]]),
    ],
)
def test_nullable_columns_may_have_nulls(type_: pa.DataType, values: list[Any]) -> None:
    """And what is null as a whole has no parts that could be."""
    one(type_, values)


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        (pa.list_(pa.struct([SURE])), [{"sure": "a"}], [{"sure": None}]),
        (pa.map_(TEXT, pa.struct([SURE])), [("k", {"sure": "a"})], [("k", {"sure": None})]),
        (pa.struct([SURE]), {"sure": "a"}, {"sure": None}),
    ],
)
def test_rows_outside_a_slice_are_ignored(type_: pa.DataType, good: Any, bad: Any) -> None:
    """Batches are slices of others, mostly."""
    column = pa.array([bad, good, bad], type_)
    check = NotNull(pa.schema([pa.field("c", type_)])).check
    check([column.slice(1, 1)])
    check([column.slice(1, 0)])
    with pytest.raises(NullFound):
        check([column.slice(1)])
