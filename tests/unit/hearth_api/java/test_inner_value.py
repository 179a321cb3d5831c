"""Arrays and maps are parsed with the same result as JSON and by tokens, and their values converted to one type."""

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
def test_json_is_parsed_like_its_tokens(value: Any, separators: tuple[str, str], is_ascii: bool, end: str) -> None:
    """Also with repeated keys, numbers too large for Java, or trailing text."""
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
def test_malformed_json_is_parsed_like_its_tokens(first: str, pieces: str, last: str) -> None:
    """Whatever is missing or superfluous."""
    text = first + pieces + last
    found, wanted = parse_string(text), _Parser(text).parse()
    assert (found.schema, deep_key(found.value)) == (wanted[0], deep_key(wanted[1]))


@pytest.mark.parametrize("inner", ["t", 5, True, None])
def test_value_that_does_not_fit_the_last_schema_is_kept(inner: Any) -> None:
    """Kafka Connect compares types without their inner schemas."""
    value = [[{"a": inner}, {"a": [1]}], True]
    assert parse_string(json.dumps(value)) == (Schema(Type.ARRAY), value)


def test_of_equal_keys_the_last_one_wins() -> None:
    """The first one still affects the common type."""
    found = read_json('{"a": 300, "b": 1, "a": 2}')
    assert found == (Schema(Type.MAP, key_schema=STRING_SCHEMA, value_schema=INT16_SCHEMA), {"a": 2, "b": 1})


@pytest.mark.parametrize("text", ["[1,]", "[1] x", '["\\\\n"]', "[NaN]", "{1:2}", "[" * 101 + "]" * 101])
def test_other_than_plain_json_is_parsed_by_tokens(text: str) -> None:
    """Also values nested too deep for Python's stack."""
    assert read_json(text) is None


def test_container_values_share_a_schema_or_have_none() -> None:
    """A map as a key and a null among numbers raise or have no schema."""
    number, text = (INT8_SCHEMA, 1), quoted("a")
    assert array_of([number, (INT16_SCHEMA, 300)]) == (Schema(Type.ARRAY, value_schema=INT16_SCHEMA), [1, 300])
    assert array_of([number, text]) == (Schema(Type.ARRAY), [1, "a"])
    assert map_of([(text, number)])[0] == Schema(Type.MAP, key_schema=STRING_SCHEMA, value_schema=INT8_SCHEMA)
    key_is_map: list[tuple[Found, Found]] = [((Schema(Type.MAP), {}), number)]
    has_null: list[tuple[Found, Found]] = [(text, number), (text, (None, None))]
    for broken in (key_is_map, has_null):
        with pytest.raises(DataError):
            map_of(broken)
