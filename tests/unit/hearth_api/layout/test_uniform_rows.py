"""Rows with the same layout are one value, with placeholders for scalars."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import BOOLEAN_SCHEMA, FLOAT64_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Timestamp
from hearth_api.batch import ScalarColumn, UnlikeError, column_to_values, plain_to_json, values_to_column
from hearth_api.java import double_text
from hearth_api.layout import as_string, join, template
from hearth_api.layout.scalars import ScalarsOfColumn
from hearth_api.layout.stretch import to_texts
from hearth_api.layout.uniform_rows import Layouts, in_rows
from hearth_api.schema import deep_key
from tests.unit.hearth_api.strategy import ALIKE, SCHEMALESS

MOMENT = dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)


@pytest.fixture(autouse=True)
def _of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enable templates for few rows."""
    monkeypatch.setattr(template, "FEW", 1)


def grouped(values: list[Any]) -> tuple[Any, Any]:
    """Return the column of values with one layout, and the value that represents them."""
    column = values_to_column(None, values)
    (group,) = Layouts().groups(column)
    assert group.rows.tolist() == list(range(len(values)))
    return column, group.value


def scalar(*values: Any) -> ScalarColumn:
    """Return the placeholder for the values of a member."""
    _, value = grouped([{"a": each, "b": "b"} for each in values])
    assert isinstance(value["a"], ScalarColumn)
    return value["a"]


@settings(deadline=None)
@given(st.data(), ALIKE | st.just(SCHEMALESS))
def test_value_of_a_group_is_written_as_the_rows_values(data: st.DataObject, shape: Any) -> None:
    """Unchanged, with reordered members, and nested in something new; no row is in two groups."""
    values = data.draw(st.lists(st.none() | shape, min_size=1, max_size=8))
    first = data.draw(st.integers(0, len(values) - 1))
    column = values_to_column(None, values).slice(first)
    values = column_to_values(None, column)
    left = set(range(len(column)))
    for group in Layouts().groups(column):
        assert left.issuperset(group.rows.tolist())
        left -= set(group.rows.tolist())
        mine = column.take(pa.array(group.rows))
        assert to_texts(group.value, len(mine)).to_pylist() == mine.to_pylist()
        for change in (lambda value: {"x": 1, "y": value, "z": None}, turned):
            try:
                changed = to_texts(change(group.value), len(mine))
            except UnlikeError:
                continue
            wanted = values_to_column(None, [change(values[row]) for row in group.rows.tolist()])
            assert changed.to_pylist() == wanted.to_pylist()


def turned(value: Any) -> Any:
    """Return a value with its members in reverse order."""
    return {name: turned(item) for name, item in reversed(value.items())} if type(value) is dict else value


@settings(deadline=None)
@given(st.data(), ALIKE)
def test_scalars_are_columns_of_their_values(data: st.DataObject, shape: Any) -> None:
    """If they are of one kind, with nulls between them."""
    rows = data.draw(st.lists(st.fixed_dictionaries({"m": shape, "n": st.integers(0, 1)}), min_size=1, max_size=6))
    column = values_to_column(None, rows)
    for group in Layouts().groups(column):
        if isinstance(group.value["m"], ScalarColumn):
            try:
                found = group.value["m"].column()
            except UnlikeError:
                continue
            wanted = [column_to_values(None, column)[row]["m"] for row in group.rows.tolist()]
            assert deep_key(column_to_values(*found)) == deep_key(wanted)


def test_rows_differing_only_in_scalars_are_one_group() -> None:
    """However long their texts are, and with nulls in place of some."""
    rows = [{"a": "x" * row, "b": None if row % 2 else row, "c": {"d": None if row % 3 else "d"}} for row in range(9)]
    _, value = grouped(rows)
    assert list(value) == ["a", "b", "c"]
    assert to_texts(value["c"], 9).to_pylist() == ['{"d":"d"}', '{"d":null}', '{"d":null}'] * 3
    assert to_texts(value["b"], 9).to_pylist() == ["0", None, "2", None, "4", None, "6", None, "8"]


def test_each_layout_is_a_group() -> None:
    """Their rows need not be adjacent; they are put back in order."""
    rows = [{"a": 1}, {"b": "x"}, {"a": 2}, {"b": "y", "c": 1.5}, {"b": "z"}]
    column = values_to_column(None, rows)
    groups = list(Layouts().groups(column))
    assert sorted(group.rows.tolist() for group in groups) == [[0, 2], [1, 4], [3]]
    parts = [(group.rows, to_texts(group.value, len(group.rows))) for group in groups]
    assert in_rows(5, parts).to_pylist() == column.to_pylist()
    assert in_rows(0, []).to_pylist() == []


def test_arrays_of_equal_length_share_a_layout() -> None:
    """Whatever they hold; other lengths are other groups, and an empty one is constant."""
    rows = [{"a": [row, {"b": [str(row), None]}], "c": []} for row in range(3)] + [{"a": [7], "c": []}] * 2
    column = values_to_column(None, rows)
    groups = list(Layouts().groups(column))
    assert [group.rows.tolist() for group in groups] == [[0, 1, 2], [3, 4]]
    assert to_texts(groups[0].value["a"][1], 3).to_pylist() == [f'{{"b":["{row}",null]}}' for row in range(3)]
    assert to_texts(groups[0].value["c"], 3).to_pylist() == ["[]"] * 3
    assert to_texts(groups[1].value, 2).to_pylist() == ['{"a":[7],"c":[]}'] * 2


def test_number_of_layouts_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of many are found in one column; layouts of few or no rows are dropped."""
    monkeypatch.setattr(template, "FEW", 4)
    shapes = pa.array([f'{{"m{row % 4}":{row}}}' for row in range(120)])
    layouts = Layouts()
    assert sorted(len(group.rows) for group in layouts.groups(shapes)) == [30] * 4
    assert len(layouts._known.layouts) == 4
    others = pa.array(['{"z":1}'] * 20 + [f'{{"few{row}":1}}' for row in range(12)])
    assert next(map(len, (group.rows for group in list(layouts.groups(others))))) == 20
    assert len(layouts._known.layouts) == 1


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1e8, 1e8), min_size=1, max_size=20))
def test_fractions_in_groups_print_identically_everywhere(numbers: list[float]) -> None:
    """In Python and Java; those with an exponent in either are in no group."""
    texts = [repr(number) for number in numbers] + [f"{number:.17f}" for number in numbers]
    for group in Layouts().groups(pa.array(texts)):
        for row in group.rows.tolist():
            assert double_text(float(texts[row])) == plain_to_json(float(texts[row])) == texts[row]
    usual = [repr(number) for number in numbers if 1e-3 <= abs(number) < 1e7]
    assert sum(len(group.rows) for group in Layouts().groups(pa.array(usual, pa.string()))) == len(usual)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1e16]},
        {"a": 1e16},
        {"a": -0.0},
        {"a": 1 << 63},
        {"a": {"@map": [[1]]}},
        {'a"': 1},
        {},
        None,
        {"a": 1e-5},
    ],
    ids=repr,
)
def test_ambiguously_printed_values_are_in_no_group(value: Any) -> None:
    """Nor are values without anything that could differ."""
    assert list(Layouts().groups(values_to_column(None, [value]))) == []


@pytest.mark.parametrize("texts", [[None], ["", None], []])
def test_columns_without_a_text_have_no_groups(texts: list[str | None]) -> None:
    """There are no layouts to find."""
    assert list(Layouts().groups(pa.array(texts, pa.string()))) == []


def test_columns_are_skipped_after_columns_without_groups() -> None:
    """The more the more often that happened, until a group is found."""
    odd, alike_ = pa.array(["1e5"] * 9), pa.array(['{"a":1}'] * 9)
    layouts = Layouts()
    assert [len(list(layouts.groups(column))) for column in (odd, alike_, alike_, odd, alike_, alike_)] == [
        0,
        0,
        1,
        0,
        0,
        1,
    ]
    assert [len(list(layouts.groups(column))) for column in (odd, odd, odd, *[alike_] * 4)] == [0, 0, 0, 0, 0, 0, 1]


def test_rows_that_do_not_fit_do_not_affect_others() -> None:
    """An unterminated array, a number with an exponent or an object in place of a scalar."""
    texts = ['{"a":1}', '{"a":[1}', '{"a":1e5}', '{"a":{}}', '{"a":2}', '{"a":"x"}', '{"a":01}', '{"a":-}']
    groups = [group.rows.tolist() for group in Layouts().groups(pa.array(texts))]
    assert groups == [[0, 4, 5]]


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ((1, -5, None), INT64_SCHEMA),
        ((1.5, None, -0.25), FLOAT64_SCHEMA),
        ((True, None, False), BOOLEAN_SCHEMA),
        (("a", 'b"\\\n', None), STRING_SCHEMA),
        ((MOMENT, MOMENT), Timestamp.SCHEMA),
    ],
)
def test_scalars_of_one_kind_have_a_schema(values: tuple[Any, ...], schema: Any) -> None:
    """It is no more specific than JSON."""
    found = scalar(*values).column()
    assert (found[0], column_to_values(*found)) == (schema, list(values))


@pytest.mark.parametrize("values", [(1, 1.5), (1, True), (b"x", b"y")])
def test_scalars_of_several_kinds_raise_unlike_error(values: tuple[Any, ...]) -> None:
    """As do those with a tag, except dates and times."""
    with pytest.raises(UnlikeError):
        scalar(*values).column()


def test_is_plain_and_is_text() -> None:
    """A tag marks a value that JSON lacks."""
    found = [scalar("a", "b"), scalar(1, 2), scalar(MOMENT, MOMENT), ScalarsOfColumn(STRING_SCHEMA, pa.array(["x"]))]
    assert [each.is_text for each in found] == [True, False, False, True]
    assert [each.is_plain for each in found] == [True, True, False, True]


@settings(deadline=None)
@given(st.data())
def test_columns_become_the_texts_of_their_values(data: st.DataObject) -> None:
    """For every schema of scalars."""
    from tests.unit.hearth_api.strategy import schemas, values

    schema = data.draw(schemas(0))
    found = data.draw(st.lists(st.none() | values(schema), max_size=4))
    column = values_to_column(schema, found)
    wanted = [plain_to_json(value) for value in column_to_values(schema, column)]
    pieces = ScalarsOfColumn(schema, column).pieces()
    assert as_string(join(pieces, len(column))).to_pylist() == wanted


def test_rows_that_are_not_allowed_are_in_no_group() -> None:
    """However well they fit."""
    data = pa.array(['{"a":1}'] * 5)
    (group,) = Layouts().groups(data, np.array([False, False, True, False, True]))
    assert group.rows.tolist() == [2, 4]
