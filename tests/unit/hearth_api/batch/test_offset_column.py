"""A column of offsets has the same texts as single offsets."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hearth_api import DataError
from hearth_api.batch import offset_column
from hearth_api.batch.offset_column import column_to_offsets, offsets_to_column
from hearth_api.java import offset_to_json

MANY = 300
_NUMBERS = st.integers(-(1 << 64), 1 << 64) | st.integers(-10, 10)
_OTHERS = st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=2)


@pytest.fixture(params=dict.fromkeys([offset_column.IS_COMPILED, False]), ids=str, autouse=True)
def way_of_writing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write with compiled code and without."""
    monkeypatch.setattr(offset_column, "IS_COMPILED", request.param)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("position", [0, -1, 9, 10, -(1 << 63), (1 << 63) - 1, 10**18, -(10**18)], [], False, False)
@given(
    st.text(max_size=3),
    st.lists(_NUMBERS, max_size=5),
    st.lists(_NUMBERS | _OTHERS, max_size=1),
    st.booleans(),
    st.booleans(),
)
def test_a_column_has_the_texts_of_its_offsets(
    name: str, numbers: list[int], odd: list[Any], has_others: bool, is_long: bool
) -> None:
    """Integers under any single name, alone and with other offsets."""
    offsets: list[Any] = [{name: number} for number in range(MANY if is_long else 0)]
    offsets += [{name: value} for value in (*numbers, *odd)]
    if has_others:
        offsets += [None, {"other": 1}, {name: 1, "other": 2}, {}]
    column = offsets_to_column(offsets)
    assert column.to_pylist() == [None if each is None else offset_to_json(each) for each in offsets]
    assert str(column.type) == "string"


class _Growing(dict[str, int]):
    """Creates a member for each name that is read."""

    def __missing__(self, name: str) -> int:
        self[name] = 0
        return 0


def test_offset_is_not_changed_by_reading() -> None:
    """A map that creates members on access keeps its original ones."""
    grows = _Growing(b=2)
    assert offsets_to_column([*[{"a": 1}] * MANY, grows]).to_pylist() == ['{"a":1}'] * MANY + ['{"b":2}']
    assert grows == {"b": 2}


def test_unwritable_offset_among_many_is_refused() -> None:
    """As it is alone."""
    with pytest.raises(DataError, match="not primitive"):
        offsets_to_column([*[{"a": 1}] * MANY, {"a": {1}}])


@pytest.mark.parametrize("values", [[], [1, -(2**63)], [*range(300)], [1, None], ["a", None], [b"a"], [1.5]])
def test_a_column_is_the_only_member_of_offsets(values: list[Any]) -> None:
    """As if each value were in an offset of its own."""
    column = pa.array(values, pa.int64() if not values else None)
    expected = offsets_to_column([{"n": value} for value in values])
    assert column_to_offsets("n", column).equals(expected)
