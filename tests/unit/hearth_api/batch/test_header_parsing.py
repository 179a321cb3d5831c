"""Texts of many headers are parsed in one loop like single ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hearth_api import STRING_SCHEMA, DataError
from hearth_api.batch import ColumnRun, HeaderColumns, header_text, parse_headers
from hearth_api.batch.header_parsing import PARSE, parse_by_loop, parse_one_by_one
from hearth_api.java import parse_string, schema_to_text

WAYS = [
    pytest.param(parse_by_loop, marks=pytest.mark.skipif(PARSE is parse_one_by_one, reason="nothing is compiled")),
    parse_one_by_one,
]
PIECES = [
    "0",
    "1",
    "7",
    "00",
    "12",
    "999",
    "2147483648",
    "9223372036854775807",
    "+",
    "-",
    ".",
    "e",
    "E",
    "e5",
    "x",
    "Z",
]
PIECES += [
    " ",
    ":",
    ",",
    "\\",
    '"',
    "[",
    "{",
    "}",
    "_",
    "/",
    "é",
    "٣",
    "\0",
    "true",
    "null",
    "2026-01-01",
    "T12:34:56.789Z",
]
NUMBERS = st.one_of(
    st.integers(-(1 << 65), 1 << 65).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.floats(width=32).map(repr),
    st.floats().map(repr),
    st.tuples(st.integers(-(10**18), 10**18), st.integers(0, 30)).map(lambda drawn: f"{drawn[0]}.{'0' * drawn[1]}5"),
    st.dates().map(str),
    st.tuples(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32)).map(
        lambda day: "{:04}-{:02}-{:02}".format(*day)
    ),
    st.floats(2**-10, 2**20, width=32).map(lambda number: f"{number * (1 + 2**-24):.17f}"),
)
STRING_TEXT = schema_to_text(STRING_SCHEMA)
TEXTS = st.none() | NUMBERS | st.lists(st.sampled_from(PIECES), max_size=5).map("".join) | st.text(max_size=4)


def told(texts: list[str | None]) -> tuple[list[Any], list[Any]]:
    """Return the header columns of texts, each parsed by itself."""
    found = [parse_string(text) for text in texts]
    schemas = [None if each.schema is None else schema_to_text(each.schema) for each in found]
    return schemas, [header_text(each.schema, each.value) for each in found]


@pytest.mark.parametrize("way", WAYS)
@given(texts=st.lists(TEXTS, max_size=8), start=st.integers(0, 3))
@example(
    texts=["0.1", "16777217.0", "16777217.5", "-0.00", "00.50", "1.", ".5", "1e5", "1.00000017881393432617"], start=0
)
@example(
    texts=["000000000000012e", "0000000000000e12", "12e5", "12e5f", "1e5e5", "12e_", "5e-3", "1f", "12345678-1e4c"],
    start=1,
)
@example(
    texts=["2026-01-01", "2026-01-01x", "26-1-1", "1-1-1234567", "123-456789", "+1-3", "tru", "truE", "falsify"],
    start=2,
)
@example(texts=["", "+", "-", "-a", "+.5", "-1.50", "+7", "-0", "0" * 17 + "7", "9" * 18, "9" * 19], start=0)
def test_texts_of_a_column_are_parsed_like_single_ones(
    way: Callable[[Any], ColumnRun | HeaderColumns], texts: list[str | None], start: int
) -> None:
    """Any texts, including slices of a column."""
    try:
        wanted = told(texts[start:])
    except DataError as error:
        with pytest.raises(DataError, match=str(error)):
            way(pa.array(texts, pa.string()).slice(start))
    else:
        column = pa.array(texts, pa.string()).slice(start)
        found = way(column)
        if isinstance(found, ColumnRun):
            assert (found.schema, found.column) == (STRING_SCHEMA, column)
            assert {STRING_TEXT}.issuperset(wanted[0])
        else:
            assert (found.schemas.to_pylist(), found.values.to_pylist()) == wanted
            assert (found.schemas.type, found.values.type) == (pa.string(), pa.string())


def test_decimals_drawn_at_random_are_the_nearest_floats() -> None:
    """Including those halfway between two, or nearly so."""
    chance = random.Random(31)
    texts: list[str | None] = []
    for _ in range(20_000):
        digits = "".join(chance.choices("0123456789", k=chance.randrange(1, 18)))
        point = chance.randrange(len(digits) + 1)
        texts.append(f"{chance.choice(['', '-', '+'])}{digits[:point]}.{digits[point:]}")
    found = parse_headers(pa.array(texts, pa.string()))
    assert isinstance(found, HeaderColumns)
    assert (found.schemas.to_pylist(), found.values.to_pylist()) == told(texts)
