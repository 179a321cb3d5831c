"""Columns without schema are read and written as the author API does it, whatever is in them."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.batch import column_to_values, values_to_column
from hearth_api.schema import deep_key
from hearth_transforms.plain_text import to_column, to_values
from tests.unit.hearth_api.strategy import SCHEMALESS

ODD: list[Any] = [
    math.nan, -0.0, 1e16, 1e-7, 5e-324, 1 << 70, -(1 << 63), "\x7f", 'a,"\x7f",b', "@", {"@date": 5}, {"@": {"@f": 1}},
    b"\x00", Decimal("1.50"), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), {1: "a"}, [None, math.inf], None,
    "null", {"a": None, "b": [math.nan]}, {"a": None}, "", [], {}, True, "größe\u2028",
]  # fmt: skip


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_values_without_json_form_are_kept(value: Any) -> None:
    """Alone and together with JSON values."""
    for values in ([value], [{"a": 1}, value, None, "x"]):
        column = to_column(values)
        assert deep_key(column_to_values(None, column)) == deep_key(values)
        assert deep_key(to_values(values_to_column(None, values))) == deep_key(values)


@given(st.lists(SCHEMALESS, max_size=4))
def test_values_come_back(values: list[Any]) -> None:
    """The texts equal those of the author API, without white space."""
    column = to_column(values)
    assert column.to_pylist() == values_to_column(None, values).to_pylist()
    assert deep_key(to_values(column)) == deep_key(values)
