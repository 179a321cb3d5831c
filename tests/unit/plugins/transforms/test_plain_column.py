"""Columns without schema are read and written as the author API does it, whatever is in them."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.batch import Batch, column_to_values, values_to_column
from hearth_api.schema import deep_key
from hearth_transforms.cast import CastValue
from hearth_transforms.header_from import HeaderFromValue
from hearth_transforms.path_filter import PathFilterValue
from hearth_transforms.plain_text import to_column, to_values
from hearth_transforms.replace_field import ReplaceFieldValue
from hearth_transforms.timestamp_converter import TimestampConverterValue
from tests.unit.hearth_api.strategy import SCHEMALESS
from tests.unit.plugins.transforms.sample import check_forms, numbered

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


STEPS: list[tuple[type[Any], dict[str, str]]] = [
    (ReplaceFieldValue, {"exclude": "a.b,a.c.d", "renames": "a.c.e:f,g:h", "field.syntax.version": "V2"}),
    (CastValue, {"spec": "a.b:string,a.c.d:int8,g:string", "field.syntax.version": "V2"}),
    (CastValue, {"spec": "g:string,h:int32"}),
    (HeaderFromValue, {"fields": "g,h", "headers": "x,y", "operation": "move"}),
    (HeaderFromValue, {"fields": "a.b,g", "headers": "x,y", "operation": "copy", "field.syntax.version": "V2"}),
    (TimestampConverterValue, {"field": "h", "target.type": "string", "format": "yyyy-MM-dd"}),
    (PathFilterValue, {"filter.condition": "$.a.c[?(@.d > 1 && $.g != 'x')]", "filter.type": "include"}),
    (PathFilterValue, {"filter.condition": "$[?(@.g == 'x')]", "filter.type": "exclude"}),
]
INNER: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={"d": st.integers(0, 300) | st.text(max_size=2), "e": st.none() | st.just([])}
)
MAPS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "a": st.none() | st.just(1) | st.fixed_dictionaries({}, optional={"b": st.booleans(), "c": st.none() | INNER}),
        "g": st.none() | st.sampled_from(["x", "y\n", 1, 2.5, [1], {"i": 2}]),
        "h": st.none() | st.integers(0, 1 << 41) | st.just("no time"),
    },
)


@pytest.mark.parametrize(("kind", "settings"), STEPS)
@given(values=st.lists(MAPS, min_size=1, max_size=12), nulls=st.lists(st.integers(0, 12), max_size=2))
def test_members_of_maps_that_vary_are_changed_as_in_records(
    kind: type[Any], settings: dict[str, str], values: list[Any], nulls: list[int]
) -> None:
    """Also between nulls, and where some of them fail."""
    rows = list(values)
    for place in nulls:
        rows.insert(place, None)
    if None in rows and kind is HeaderFromValue:
        rows = values
    step = kind()
    step.configure(settings)
    check_forms(step, numbered(batch_of(rows)))


def batch_of(values: list[Any]) -> Batch:
    """Return a batch of values without schema."""
    offsets = pa.array([json.dumps({"position": row}) for row in range(len(values))])
    data = pa.RecordBatch.from_arrays([values_to_column(None, values), offsets], ["value", "source_offset"])
    return Batch("topic", None, None, data, {"f": "x"})
