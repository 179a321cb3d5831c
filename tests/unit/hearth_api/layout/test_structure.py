"""What stands in strings is found in JSON texts of any layout."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.layout.structure import Structure

VALUES = st.recursive(
    st.text(alphabet='ab"\\,:.\n', max_size=5) | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='k"\\:', max_size=2), inner, max_size=3)
    ),
)
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@given(st.lists(VALUES, max_size=40))
def test_marks_of_strings_are_none(values: list[object]) -> None:
    """A byte outside of all strings is found, as are the quotes around these."""
    texts = [json.dumps(value) for value in values]
    found = Structure(pa.array(texts, pa.string()))
    blank = STRING.sub(lambda match: f'"{"_" * (len(match[0]) - 2)}"', "".join(texts))
    assert np.flatnonzero(found.quotes).tolist() == [match.start() for match in re.finditer('"', blank)]
    for byte in ",:.":
        assert np.flatnonzero(found.outer(ord(byte))).tolist() == [
            match.start() for match in re.finditer(re.escape(byte), blank)
        ]
    assert found.escaped.tolist() == [row for row, text in enumerate(texts) if "\\" in text]
    ends = np.cumsum([0, *map(len, texts)])
    assert found.count(found.quotes).tolist() == [blank[:end].count('"') for end in ends]


@given(st.lists(st.booleans(), min_size=1, max_size=300))
def test_marks_are_counted(marks: list[bool]) -> None:
    """Before every place, and behind the last."""
    found = Structure(pa.array(["x"] * len(marks)))
    assert found.count(np.array(marks)).tolist() == [sum(marks[:place]) for place in range(len(marks) + 1)]


def test_rows_are_unusual_that_are_not_written_as_the_api_does() -> None:
    """A tag, a space between values, a number that Python or Java writes in another way."""
    usual = ["1", "1.5", '"1.50 "', '{"a":"{@","b":[true,1.0]}', "0.001", "-2.25", "1234567.5", "null", "[]"]
    unusual = ['{"@date":1}', "[1, 2]", "1.50", "-0", "1e5", "[1E5]", "12345678.5", "0.0001", "0.10000000000000001"]
    for texts in (usual, unusual, usual + unusual, unusual + usual, []):
        expected = [text in unusual for text in texts]
        assert Structure(pa.array(texts, pa.string())).unusual_rows().tolist() == expected


def test_a_string_without_end_makes_all_rows_unusual() -> None:
    """Where strings are in the rows behind it cannot be told."""
    assert Structure(pa.array(["1", '"a', "2"])).unusual_rows().tolist() == [True] * 3
