"""Row errors are created on access, and not before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import DataError
from hearth_api.batch import LateErrors


def test_error_is_created_on_access() -> None:
    """Counting the failed rows and reading their indexes creates none."""
    asked: list[int] = []

    def make(place: int) -> Exception:
        asked.append(place)
        return DataError(f"row {place}")

    errors = LateErrors()
    errors[1] = ValueError("there")
    errors.add(np.array([5, 7]), make)
    assert (len(errors), sorted(errors), 5 in list(errors), list(errors.made)) == (3, [1, 5, 7], True, [1])
    assert asked == []
    assert [str(errors[place]) for place in (1, 7)] == ["there", "row 7"]
    assert asked == [7]


@given(st.lists(st.integers(0, 2), max_size=9), st.data())
def test_errors_of_a_part_have_its_indexes(kinds: list[int], data: st.DataObject) -> None:
    """Existing and late errors, including a part of a part."""
    part = LateErrors()
    for place, kind in enumerate(kinds):
        if kind == 1:
            part[place] = DataError(f"{place}")
    part.add(np.flatnonzero(np.array(kinds, int) == 2), lambda place: DataError(f"{place}"))
    wanted = {place: str(place) for place, kind in enumerate(kinds) if kind}
    count = len(kinds)
    for _ in range(2):
        size = count + data.draw(st.integers(0, 5))
        places = np.array(sorted(data.draw(st.permutations(range(size)))[:count]), np.int64)
        count, whole = size, LateErrors()
        whole.add_part(part, places)
        wanted = {int(places[place]): text for place, text in wanted.items()}
        part = whole
    assert {place: str(error) for place, error in part.items()} == wanted
