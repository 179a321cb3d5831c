"""Layouts of payloads: their constants are learned from one payload and found in others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hearth_api import (
    INT32_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Schema,
    SchemaBuilder,
)
from hearth_api.layout.template import Payloads, cut
from hearth_json.layout import learn

PAIR = SchemaBuilder.struct().field("a", OPTIONAL_STRING_SCHEMA).field("n", OPTIONAL_INT32_SCHEMA).build()
NESTED = SchemaBuilder.struct().field("p", PAIR).field("b", STRING_SCHEMA).build()


def found(schema: Schema, first: bytes, rows: list[bytes]) -> list[list[bytes | None] | None]:
    """Return the values of the rows that fit the layout of the first one, None for rows that do not."""
    layout = learn(schema, first)
    assert layout is not None
    content = b"".join(rows)
    offsets = np.cumsum([0, *map(len, rows)])
    result = cut(layout.template, Payloads(np.frombuffer(content, np.uint8), offsets))
    return [_values(content, result, row) if result.fits[row] else None for row in range(len(rows))]


def _values(content: bytes, result: Any, row: int) -> list[bytes | None]:
    return [
        content[starts[row] : ends[row]] if isinstance(opens, bool) or opens[row] else None
        for (starts, ends), opens in zip(result.spans, result.opens)
    ]


def test_values_are_found_between_the_constant_texts() -> None:
    """Strings of any length, numbers and nulls are cut out of payloads of one layout."""
    rows = [b'{"a":"x","n":1}', b'{"a":"","n":-22}', b'{"a":null,"n":null}', '{"a":"é,\\"","n":0}'.encode()]
    expected = [[b"x", b"1"], [b"", b"-22"], [None, b"null"], ['é,\\"'.encode(), b"0"]]
    assert found(PAIR, rows[0], rows) == expected


@pytest.mark.parametrize(
    "row",
    [b'{"a":"x","n":1} ', b'{"a":"x","n":}', b'{"a":"x"}', b'{"n":1,"a":"x"}', b'{"a":"x", "n":1}', b"", b"null",
     b'{"a":"x","b":1}', b'{"a":1,"n":1}', b'{"a":"x","n":1', b'{"a":"x","n":"1"}', b'{"a":"x","a":"y","n":1}',
     b'{"a":nul,"n":1}', b'{"a":"x","n":1}}'],
)  # fmt: skip
def test_other_layouts_do_not_fit(row: bytes) -> None:
    """A row fits if only its values differ; the other rows are still found."""
    good = b'{"a":"x","n":1}'
    assert found(PAIR, good, [good, row, good])[::2] == [[b"x", b"1"]] * 2
    values = found(PAIR, good, [good, row, good])[1]
    # Unquoted values are checked when they are read: each must be one JSON scalar.
    assert values is None or values[1] not in (b"1", b"null")


def test_an_unquoted_value_at_the_end_has_no_quotes_in_it() -> None:
    """So it is one scalar, or an array or object that has no text in it."""
    assert found(PAIR, b'{"n":1}', [b'{"n":1}', b'{"n":1,"a":"x"}', b'{"n":[1]}']) == [[b"1"], None, [b"[1]"]]


def test_white_space_belongs_to_the_layout() -> None:
    """Payloads with spaces between members have a template of their own."""
    rows = [b'{ "a": "x", "n": 1 }', b'{ "a": "y", "n": 2 }', b'{"a":"y","n":2}']
    assert found(PAIR, rows[0], rows) == [[b"x", b"1"], [b"y", b"2"], None]


def test_structs_inside_of_structs_are_one_layout() -> None:
    """Members of inner structs are values like any others, in the order the payload has them."""
    rows = [b'{"p":{"n":1,"a":"x"},"b":"y"}', b'{"p":{"n":null,"a":null},"b":""}', b'{"p":null,"b":""}']
    assert found(NESTED, rows[0], rows) == [[b"1", b"x", b"y"], [b"null", None, b""], None]


def test_escaped_quotes_do_not_end_a_value() -> None:
    """A quote counts if an even number of backslashes precedes it within its row."""
    rows = [rb'"a"', rb'"\""', rb'"\\"', rb'"\\\""', rb'"x\\\\"', b'"\\', rb'"b"', b'"\\\\', b'"c"']
    values = found(STRING_SCHEMA, rows[0], rows)
    assert values == [[b"a"], [rb"\""], [rb"\\"], [rb"\\\""], [rb"x\\\\"], None, [b"b"], None, [b"c"]]


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (PAIR, b'{"a":"x","a":"y"}'),
        (PAIR, b'{"a":"x","zz":1}'),
        (PAIR, b'{"\\u0061":"x"}'),
        (PAIR, b"[]"),
        (PAIR, b"null"),
        (PAIR, b'{"a":["x"]}'),
        (PAIR, b'{"a":5}'),
        (PAIR, b'{"a":"x"} 1'),
        (PAIR, b"{}"),
        (INT32_SCHEMA, b'"1"'),
        (INT32_SCHEMA, b""),
        (SchemaBuilder.array(INT32_SCHEMA).build(), b"[1]"),
    ],
)
def test_unusual_payloads_give_no_template(schema: Schema, payload: bytes) -> None:
    """Repeated, unknown and escaped members, arrays and values of another kind are left to slower readers."""
    assert learn(schema, payload) is None
