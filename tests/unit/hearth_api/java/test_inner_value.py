"""Arrays and maps are read alike as JSON and token by token, and their values brought to one type."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hearth_api import INT8_SCHEMA, INT16_SCHEMA, STRING_SCHEMA, DataError, Schema, Type
from hearth_api.java import parse_string
from hearth_api.java.inner_value import array_of, map_of, quoted, read_json
from hearth_api.java.scalar_text import Found
from hearth_api.java.values import _Parser
from hearth_api.schema import deep_key

PARTS = [
    "a",
    "b",
    "",
    " ",
    "a b",
    " : ",
    ": ",
    "http://h:80/p?q=[1, 2]",
    "2026-01-01",
    "12:34:56.789Z",
    "19-1-1,,,,",
    '"',
]
JSON = st.recursive(
    st.sampled_from(PARTS)
    | st.text('ab1 :,[]{}-T.Zé"\\\n', max_size=13)
    | st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.sampled_from([127, 128, 1 << 31, 1 << 63, 10**30]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(PARTS), inner, max_size=4),
    max_leaves=12,
)
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t:  "), (",,", ":"), (" ", ":")])


@given(JSON, SEPARATORS, st.booleans(), st.sampled_from(["", " ", "x", "]", "}", ", 1"]))
@example(["0.8e413797865258421"], (",", ":"), False, "")
def test_json_is_read_as_its_tokens_are(value: Any, separators: tuple[str, str], is_ascii: bool, end: str) -> None:
    """Also where keys come twice, numbers are too large for Java, or something follows."""
    text = json.dumps([value], ensure_ascii=is_ascii, separators=separators) + end
    for each in (text, text.replace('"b"', '"a"'), text.replace('"', ""), text[1:], text[:-1]):
        found = parse_string(each)
        wanted = _Parser(each).parse() if each else (STRING_SCHEMA, "")
        assert (found.schema, deep_key(found.value)) == (wanted[0], deep_key(wanted[1]))


WORDS = ["0", "-0", "7", "01", "300", "9223372036854775808", "1e5", "1E-5", "-1.50", "1.", ".5", "NaN", "1e400"]
WORDS += ["null", "true", "fals", '"a"', '"b": ', '"2026-01-01"', '"12:34:56.789Z"', '" "', '"é\U0001f600"', "\0"]
PIECES = st.sampled_from([*'[]{},:" \\\t\n-', *WORDS])


@given(st.sampled_from("[{"), st.lists(PIECES, max_size=12).map("".join), st.sampled_from(["", "]", "}", "]}", "}]"]))
@example("[", "1,", "]")
@example("{", '"a": null, "a": 1', "}")
@example("{", '" ": 1, "": "2"', "}")
@example("[", '"\\"', "]")
def test_pieces_of_json_are_read_as_tokens_are(first: str, pieces: str, last: str) -> None:
    """Whatever is missing between them, or too much."""
    text = first + pieces + last
    found, wanted = parse_string(text), _Parser(text).parse()
    assert (found.schema, deep_key(found.value)) == (wanted[0], deep_key(wanted[1]))


@pytest.mark.parametrize("inner", ["t", 5, True, None])
def test_a_value_that_is_not_what_the_last_of_several_schemas_says_is_kept(inner: Any) -> None:
    """Kafka Connect compares types without what is inside of them."""
    value = [[{"a": inner}, {"a": [1]}], True]
    assert parse_string(json.dumps(value)) == (Schema(Type.ARRAY), value)


def test_of_equal_keys_the_last_one_wins() -> None:
    """The first one has a say in the type all the same."""
    found = read_json('{"a": 300, "b": 1, "a": 2}')
    assert found == (Schema(Type.MAP, key_schema=STRING_SCHEMA, value_schema=INT16_SCHEMA), {"a": 2, "b": 1})


@pytest.mark.parametrize("text", ["[1,]", "[1] x", '["\\\\n"]', "[NaN]", "{1:2}", "[" * 101 + "]" * 101])
def test_what_is_not_plain_json_is_left_to_the_tokens(text: str) -> None:
    """Also what is nested so deep that Python's stack may not do."""
    assert read_json(text) is None


def test_what_stands_in_an_array_or_a_map_shares_a_schema_or_has_none() -> None:
    """Neither a key that is a map nor a null among numbers can be."""
    number, text = (INT8_SCHEMA, 1), quoted("a")
    assert array_of([number, (INT16_SCHEMA, 300)]) == (Schema(Type.ARRAY, value_schema=INT16_SCHEMA), [1, 300])
    assert array_of([number, text]) == (Schema(Type.ARRAY), [1, "a"])
    assert map_of([(text, number)])[0] == Schema(Type.MAP, key_schema=STRING_SCHEMA, value_schema=INT8_SCHEMA)
    key_is_map: list[tuple[Found, Found]] = [((Schema(Type.MAP), {}), number)]
    has_null: list[tuple[Found, Found]] = [(text, number), (text, (None, None))]
    for broken in (key_is_map, has_null):
        with pytest.raises(DataError):
            map_of(broken)
