"""JSON errors with Jackson's messages; `tests/peer` has more of them from a live Kafka Connect."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.rest.json_token import TOO_DEEP, Malformed, Tokens

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text('aé\n"\\/☃😀'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"', max_size=2), inner, max_size=3),
    max_leaves=8,
)


def kinds(data: bytes) -> list[str]:
    """Return the kinds of all tokens."""
    tokens, found = Tokens(data), []
    while (token := tokens.next()) is not None:
        found.append(token.kind)
    return found


def is_json(data: bytes) -> bool:
    """Return whether Python parses one value, in its strictest mode."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(data, parse_constant=refuse)
    except ValueError:
        return False
    return True


def test_tokens_are_returned_in_the_order_of_the_text() -> None:
    """A member's name first, although its value is looked at before."""
    assert kinds(b' {"a": [1, -2.5e3, "x\\u00e9", {}], "b": null, "c": true}') == [
        "START_OBJECT", "FIELD_NAME", "START_ARRAY", "VALUE_NUMBER_INT", "VALUE_NUMBER_FLOAT", "VALUE_STRING",
        "START_OBJECT", "END_OBJECT", "END_ARRAY", "FIELD_NAME", "VALUE_NULL", "FIELD_NAME", "VALUE_TRUE",
        "END_OBJECT",
    ]  # fmt: skip


@given(JSON, st.data())
def test_the_reader_accepts_what_python_accepts(value: object, data: st.DataObject) -> None:
    """With one byte added, removed or changed, both readers agree on whether the text is JSON."""
    text = json.dumps(value, ensure_ascii=False, indent=data.draw(st.sampled_from((None, 1)))).encode()
    at = data.draw(st.integers(0, len(text)))
    changed = (
        text[:at]
        + data.draw(st.sampled_from((b"", *(bytes([each]) for each in b' ,:"[]{}0-.e\\tn\x01'))))
        + text[at + data.draw(st.integers(0, 1)) :]
    )
    for each in (text, changed):
        if is_json(each):
            assert kinds(each)
        elif each.strip() and not is_several(each):
            with pytest.raises(Malformed, match="REDACTED"):
                kinds(each)


def is_several(data: bytes) -> bool:
    """Return whether a text has more than one value, which other code rejects."""
    try:
        found = kinds(data)
    except Malformed:
        return False
    depth = ends = 0
    for kind in found:
        depth += kind.startswith("START") - kind.startswith("END")
        ends += depth == 0
    return ends > 1


def test_the_error_for_deep_nesting_has_no_position() -> None:
    """As in Jackson; a thousand nested arrays are allowed."""
    with pytest.raises(Malformed, match="close marker for Array"):
        kinds(b"[" * 1000)
    with pytest.raises(Malformed) as caught:
        kinds(b"[" * 1001)
    assert str(caught.value) == TOO_DEEP


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('{"a":\n\n  nope}', "Unrecognized token 'nope': was expecting ", (3, 3)),
        ('{"a":"b\r\n', "Illegal unquoted character ((CTRL-CHAR, code 13)): ", (1, 8)),
        ('["\u2603', "Unexpected end-of-input in VALUE_STRING", (1, 6)),
        ("[1,]", "Unexpected character (']' (code 93)): expected a value", (1, 4)),
        ("[\u05d0]", "Unexpected character ('\xd7' (code 215)): expected a valid value ", (1, 2)),
        ("[1\u2603]", "Unexpected character ('\u2603' (code 9731 / 0x2603)): was expecting comma ", (1, 3)),
        ('["\udcff"]', "Invalid UTF-8 start byte 0xff", (1, 4)),
        ("[\udcb55i]", "Unrecognized token '\xb55i': was expecting ", (1, 2)),
        ("[r\udcff]", "Invalid UTF-8 start byte 0xff", (1, 4)),
        ("[m\udcda3", "Invalid UTF-8 middle byte 0x33", (1, 5)),
        ("[\xe9]", "Invalid UTF-8 start byte 0xa9", (1, 4)),
    ],
)
def test_an_error_has_its_position(text: str, message: str, place: tuple[int, int]) -> None:
    """Lines and bytes within a line, from 1."""
    with pytest.raises(Malformed) as caught:
        kinds(text.encode("utf-8", "surrogateescape"))
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith("; line: {}, column: {}]".format(*place))
