"""Headers of many records are built from their column."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    Date,
    Header,
    Headers,
    Schema,
    Timestamp,
)
from hearth_api.batch import (
    column_to_headers,
    header_lists,
    header_values,
    headers_to_column,
    schema_texts,
    value_from_json,
)
from hearth_api.batch.header_rows import BUILD, build_by_loop, build_one_by_one
from hearth_api.schema import deep_key
from tests.unit.hearth_api.batch.test_batch_record import headers

WAYS = [
    pytest.param(build_by_loop, marks=pytest.mark.skipif(BUILD is build_one_by_one, reason="nothing is compiled")),
    build_one_by_one,
]
Way = Callable[..., Any]


@pytest.mark.parametrize("way", WAYS)
@given(rows=st.lists(st.lists(headers(), max_size=3), max_size=4), start=st.integers(0, 4))
@example(rows=[[Header("f", FLOAT32_SCHEMA, 0.5), Header("f", FLOAT32_SCHEMA, 0.5)]] * 2, start=1)
@example(rows=[[Header("n", OPTIONAL_STRING_SCHEMA), Header("n", INT64_SCHEMA, -(1 << 63))]], start=0)
@example(rows=[[Header("d", FLOAT64_SCHEMA, 1e300), Header("d", FLOAT64_SCHEMA, float("inf"))]], start=0)
def test_both_ways_build_the_headers_of_any_rows(way: Way, rows: list[list[Header]], start: int) -> None:
    """Names, schemas and values, in order, of all rows or of a slice."""
    column = headers_to_column([Headers(own) if own else None for own in rows]).slice(start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hearth_api.batch.header_rows.BUILD", way)
        found = column_to_headers(column)
    wanted = [[(each.key, each.schema, deep_key(each.value)) for each in own] for own in rows[start:]]
    assert [[(each.key, each.schema, deep_key(each.value)) for each in own or ()] for own in found] == wanted
    assert [own is None for own in found] == [not own for own in rows[start:]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (FLOAT32_SCHEMA, "0.1", 0.10000000149011612),
        (FLOAT32_SCHEMA, "5", 5.0),
        (FLOAT64_SCHEMA, "-1.5e-3", -0.0015),
        (FLOAT64_SCHEMA, "0." + "3" * 60, 1 / 3),
        (INT64_SCHEMA, "-0", 0),
        (INT64_SCHEMA, "9223372036854775807", (1 << 63) - 1),
    ],
)
def test_numbers_are_read_with_any_digits(way: Way, schema: Schema, text: str, value: float) -> None:
    """A FLOAT32 is the nearest 32-bit float."""
    column = header_lists(pa.array([0, 1], pa.int32()), pa.array(["h"]), schema_texts(schema, 1), pa.array([text]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hearth_api.batch.header_rows.BUILD", way)
        (found,) = column_to_headers(column)
    assert [each.value for each in found or ()] == [value]


@pytest.mark.parametrize("text", ["1,2", "", "[1]", "+1", "01", "1.", "nan", "1_0", " 1 ", "x", "1.5", "1e3"])
@pytest.mark.parametrize("schema", [FLOAT64_SCHEMA, BOOLEAN_SCHEMA, Timestamp.SCHEMA, Date.SCHEMA])
def test_text_that_is_not_a_number_is_refused_among_others(schema: Schema, text: str) -> None:
    """Texts joined for parsing do not become valid or change each other."""
    refusals: list[str] = []
    read: list[Any] = []
    for texts in (None, [text], ["1", text]):
        try:
            read.append(value_from_json(schema, text) if texts is None else header_values(schema, pa.array(texts))[-1])
        except (ValueError, TypeError, IndexError) as error:
            refusals.append(f"{type(error)} {error}")
    assert len(read) + len(refusals) == 3
    assert len({*map(str, read), *refusals}) == 1


def test_mutable_values_are_not_shared() -> None:
    """Equal values of two records are distinct objects."""
    own = Headers().add("m", None, {"a": [1]})
    first, second = column_to_headers(headers_to_column([own, own]))
    assert first is not None
    first.last_with_name("m").value["a"].append(2)  # type: ignore[union-attr]
    assert (second, first == own) == (own, False)


def test_equal_headers_are_shared_but_headers_objects_are_not() -> None:
    """A header is immutable; changing the headers of one record does not affect another's."""
    column = headers_to_column([Headers().add_string("n", str(row)).add_string("origin", "here") for row in range(3)])
    first, second, third = (own or Headers() for own in column_to_headers(column))
    assert first.last_with_name("origin") == third.last_with_name("origin")
    if BUILD is build_by_loop:
        assert first.last_with_name("origin") is third.last_with_name("origin")
    first.remove("origin")
    second.add_string("origin", "there")
    assert [[each.value for each in own] for own in (first, second, third)] == [
        ["0"],
        ["1", "here", "there"],
        ["2", "here"],
    ]


def test_headers_of_a_batch_are_headers_like_others() -> None:
    """They can be changed, copied and compared independently."""
    column = headers_to_column([Headers().add_string("a", "x"), Headers().add_string("b", "y")])
    wanted = Headers().add_string("b", "y")
    for copied in (copy.copy, copy.deepcopy, lambda own: pickle.loads(pickle.dumps(own)), Headers.duplicate):
        own = column_to_headers(column)[1]
        assert own is not None
        assert copied(own) == wanted
        assert own == wanted
    first, own = column_to_headers(column)
    assert own is not None
    own.add_int("n", 5)
    assert [each.key for each in own] == ["b", "n"]
    assert first == Headers().add_string("a", "x")


def test_record_does_not_keep_its_batch_alive() -> None:
    """A sink may keep one record of each put indefinitely."""
    other = "x" * 100
    own, _ = column_to_headers(
        headers_to_column([Headers().add_string("a", "kept"), Headers().add_string("a", other)])
    )
    held = gc.get_referents(own)
    seen = {id(each) for each in held}
    for each in held:
        inside = [
            one for one in gc.get_referents(each) if isinstance(one, (list, Header, str)) and id(one) not in seen
        ]
        seen.update(map(id, inside))
        held += inside
    assert "kept" in held
    assert other not in held
