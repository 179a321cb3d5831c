"""A value that represents many rows is written as their texts, with as few pieces as possible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import INT64_SCHEMA
from hearth_api.batch import UnlikeError, values_to_column
from hearth_api.layout import stretch
from hearth_api.layout.scalars import ScalarsOfColumn
from hearth_api.layout.stretch import to_texts
from hearth_api.layout.uniform_rows import Layouts

ROWS = [{"a": row, "b": "x", "c": {"d": True}} for row in range(80)]


@pytest.fixture
def value() -> Any:
    """Return a value that represents the rows."""
    (group,) = Layouts().groups(values_to_column(None, ROWS))
    return group.value


def spans(pieces: Iterator[Any]) -> list[Any]:
    """Return what would be joined."""
    merged = stretch._merged(pieces)
    return [piece.texts().column()[1].as_py() if isinstance(piece, stretch._Stretch) else piece for piece in merged]


def test_adjacent_places_are_copied_in_one_piece(value: Any) -> None:
    """Also from the start of the rows and to their end."""
    assert spans(stretch._pieces(value)) == [b'{"a":1,"b":"x","c":{"d":true}}']
    assert spans(stretch._pieces({**value, "e": 1})) == [b'{"a":1,"b":"x","c":{"d":true', b'},"e":1}']
    renamed = {"z": value["a"], "b": value["b"], "c": value["c"]}
    assert spans(stretch._pieces(renamed)) == [b'{"z":', b'1,"b":"x","c":{"d":true}}']


def test_object_resembling_a_tag_is_not_written(value: Any) -> None:
    """It would be parsed as a tag."""
    with pytest.raises(UnlikeError):
        to_texts({"@a": value["a"]}, 80)


def test_constants_and_columns_are_written_with_original_values(value: Any) -> None:
    """Constants alone, no original values at all, and null as a whole."""
    numbers = ScalarsOfColumn(INT64_SCHEMA, pa.array(range(80)))
    assert to_texts({"n": numbers, "a": value["a"], "l": [1, None]}, 80)[7].as_py() == '{"n":7,"a":7,"l":[1,null]}'
    assert to_texts({"x": 1.5}, 2).to_pylist() == ['{"x":1.5}'] * 2
    assert to_texts(None, 2).to_pylist() == [None, None]
