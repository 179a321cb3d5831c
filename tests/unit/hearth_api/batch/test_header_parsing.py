"""Texts of many headers are parsed in one loop like single ones."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hearth_api import STRING_SCHEMA, DataError
from hearth_api.batch import ColumnRun, HeaderColumns, header_text, header_values, parse_headers
from hearth_api.batch.header_parsing import PARSE, parse_by_loop, parse_one_by_one
from hearth_api.java import parse_string, schema_from_text, schema_to_text

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
MOMENTS = st.tuples(
    st.sampled_from(["2026-01-31", "1582-10-10", "2026-02-29", "9999-12-31", "0001-01-01"]),
    st.sampled_from(["T23:59:59.999Z", "T24:00:00.000Z", "T12:60:00.000Z", "T12:00:60.000Z", "T12:00:00.00xZ"]),
).map("".join)
STRING_TEXT = schema_to_text(STRING_SCHEMA)


INNER_TEXTS = st.one_of(
    st.sampled_from(["", " ", "a", "a-b", "1:2", "a: b", ", ", "2026-01-01", " 2026-1-01", "12:34:56.789Z", "@float"]),
    st.text(st.sampled_from('aé7-: ,[]{}@"\\'), max_size=11),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 65), 1 << 65) | st.integers(-200, 200) | st.floats() | INNER_TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(INNER_TEXTS, inner, max_size=4),
    max_leaves=8,
).flatmap(
    lambda value: st.sampled_from([None, 1]).map(lambda indent: json.dumps(value, indent=indent, ensure_ascii=False))
)
BROKEN_JSON = st.tuples(
    JSON, st.integers(0, 9), st.sampled_from(["", "[", "]", "{", "}", ",", '"', ":", " ", "-", "0"])
).map(lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] :])

TEXTS = (
    st.none()
    | NUMBERS
    | MOMENTS
    | JSON
    | BROKEN_JSON
    | st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
    | st.text(max_size=4)
)


def parsed(texts: list[str | None]) -> list[tuple[str | None, Any]]:
    """Return the schema and the value of each text, parsed by itself, as they are after a headers column."""
    found = [parse_string(text) for text in texts]
    schemas = [None if each.schema is None else schema_to_text(each.schema) for each in found]
    return with_values(schemas, [header_text(each.schema, each.value) for each in found])


def with_values(schemas: list[str | None], texts: list[str | None]) -> list[tuple[str | None, Any]]:
    """Return schemas and the values of texts; repr tells numbers of different types apart."""
    return [
        (
            schema,
            repr(header_values(None if schema is None else schema_from_text(schema), pa.array([text], pa.string()))),
        )
        for schema, text in zip(schemas, texts)
    ]


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
@example(
    texts=['{"a":1,"a":2}', '{"b":1,"a":2000,"c":3}', "[[1],[[1]]]", '["a",1]', "[]", "{}", "[null,null]", "[-0]"],
    start=0,
)
@example(texts=["true", "false", "null", "true ", "false\n", "nulls", "2026-01-01T12:34:56.789Z"], start=0)
@example(texts=["", "+", "-", "-a", "+.5", "-1.50", "+7", "-0", "0" * 17 + "7", "9" * 18, "9" * 19], start=0)
def test_texts_of_a_column_are_parsed_like_single_ones(
    way: Callable[[Any], ColumnRun | HeaderColumns], texts: list[str | None], start: int
) -> None:
    """Any texts, including slices of a column."""
    try:
        wanted = parsed(texts[start:])
    except DataError as error:
        with pytest.raises(DataError, match=str(error)):
            way(pa.array(texts, pa.string()).slice(start))
    else:
        column = pa.array(texts, pa.string()).slice(start)
        found = way(column)
        if isinstance(found, ColumnRun):
            assert (found.schema, found.column) == (STRING_SCHEMA, column)
            assert {STRING_TEXT}.issuperset(schema for schema, _ in wanted)
        else:
            assert with_values(found.schemas.to_pylist(), found.values.to_pylist()) == wanted
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
    assert with_values(found.schemas.to_pylist(), found.values.to_pylist()) == parsed(texts)
