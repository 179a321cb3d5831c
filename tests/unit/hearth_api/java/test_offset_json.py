"""Source offsets as the JSON that Kafka Connect stores."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import DataError
from hearth_api.java import offset_to_json, offsets_to_json

MEMBERS = st.sampled_from([5, -(1 << 70), True, 0.5, float("nan"), None, "x", 'é"\n', b"y", ""])
NAMES = st.sampled_from(["a", 'b"', "%s", "{c}"])


@pytest.mark.parametrize(
    ("offset", "text"),
    [({"position": 5}, '{"position":5}'), ({"a": "é", "b": None}, '{"a":"é","b":null}'), ({"é": True}, '{"é":true}'),
     ({'"': 1}, '{"\\"":1}'), ({}, "{}"), ({"b": b"\x00"}, '{"b":"AA=="}'),
     ({"p": 1e10, "q": 1e-7, "r": 100.0}, '{"p":1.0E10,"q":1.0E-7,"r":100.0}'), ({"p": 2**70}, f'{{"p":{2**70}}}'),
     ({"p": float("nan"), "b": b"\x00"}, '{"p":"NaN","b":"AA=="}'), ({"p": -float("inf")}, '{"p":"-Infinity"}')],
)  # fmt: skip
def test_offsets_are_json_as_kafka_stores_them(offset: dict[str, Any], text: str) -> None:
    """No spaces, no needless escapes, bytes as base64, fractions as Java prints them.

    Its JsonConverter quotes non-finite numbers: a reader would otherwise refuse the whole offset.
    """
    assert offset_to_json(offset) == text
    json.loads(text, parse_constant=pytest.fail)


def test_offsets_hold_primitive_values() -> None:
    """Values that Kafka Connect cannot read back are refused."""
    for value in (dt.date(2020, 1, 1), [float("nan")]):
        with pytest.raises(DataError, match="not primitive"):
            offset_to_json({"a": value})


@given(st.lists(NAMES, unique=True), st.lists(st.lists(MEMBERS, min_size=4, max_size=4), max_size=4), st.booleans())
def test_many_offsets_are_written_like_single_ones(names: list[str], rows: list[list[Any]], is_alike: bool) -> None:
    """Whether or not they have the same members in the same order."""
    offsets: list[Any] = [dict(zip(names, row)) for row in rows]
    if not is_alike:
        offsets += [None, dict(reversed(offsets[0].items())) if rows else {}, {"a": 1}, {1: 2}]
    texts = [None if offset is None else offset_to_json(offset) for offset in offsets]
    assert offsets_to_json(offsets) == texts


def test_unwritable_member_among_many_is_refused() -> None:
    """As it is alone."""
    with pytest.raises(DataError, match="not primitive"):
        offsets_to_json([{"a": 1, "b": 2}, {"a": 1, "b": dt.date(2020, 1, 1)}])
