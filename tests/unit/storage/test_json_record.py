"""JSON is byte for byte what Jackson writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.storage.json_record import from_bytes, offset_bytes, to_bytes


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", b'"plain"'),
        ('"\\/', b'"\\"\\\\/"'),
        ("\b\t\n\f\r", b'"\\b\\t\\n\\f\\r"'),
        ("\x00\x1f\x7f", b'"\\u0000\\u001F\x7f"'),
        ("\\u001f", b'"\\\\u001f"'),
        ("é€", "\"é€\"".encode()),
        ("😀", b'"\\uD83D\\uDE00"'),
        ("\ud83d", b'"?"'),
    ],
)  # fmt: skip
def test_strings_are_escaped_as_in_jackson(text: str, written: bytes) -> None:
    """Control characters in upper case, and surrogate pairs as two escapes."""
    assert to_bytes(text) == written


def test_json_has_no_white_space() -> None:
    """The order is that of the map."""
    assert to_bytes({"b": [1, True, None], "a": {}}) == b'{"b":[1,true,null],"a":{}}'


def test_fractions_of_offsets_are_javas() -> None:
    """As `Double.toString`; NaN and infinities are strings."""
    assert offset_bytes({"a": 1e10, "b": 2.5, "c": 7, "d": float("nan")}) == b'{"a":1.0E10,"b":2.5,"c":7,"d":"NaN"}'


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_written_json_can_be_read(text: str) -> None:
    """With any characters."""
    assert from_bytes(to_bytes({text: text})) == {text: text}


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000])
def test_invalid_json_is_rejected(data: bytes) -> None:
    """As is JSON that is nested too deeply."""
    with pytest.raises(ValueError):  # noqa: PT011 -- of json, UTF-8 or recursion
        from_bytes(data)
