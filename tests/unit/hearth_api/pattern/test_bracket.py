"""Character classes contain the same characters as in Java."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.java import PatternError, compile_pattern

SUBJECTS = "abcdefxyzABZ019-]^& _\t\né"
"""The characters that each class is tested with."""


def held(text: str) -> str:
    """Return which of the subjects a class contains."""
    pattern = compile_pattern(text)
    return "".join(char for char in SUBJECTS if pattern.fullmatch(char))


@pytest.mark.parametrize(
    ("text", "characters"),
    [
        ("[a-c]", "abc"),
        ("[a-cx]", "abcx"),
        ("[a-b[e-f]]", "abef"),
        ("[a-f&&[def]]", "def"),
        ("[a-f&&[^bc]]", "adef"),
        ("[a-f&&b-e&&c-z]", "cde"),
        ("[]a]", "a]"),
        ("[a-]", "a-"),
        ("[a^]", "a^"),
        ("[a&b]", "ab&"),
        (r"[\d_]", "019_"),
        (r"[a-c&&\w]", "abc"),
        (r"[\p{Upper}\x61]", "aABZ"),
        (r"[\p{Alpha}&&[^\p{Lower}]]", "ABZ"),
        (r"[\t\n]", "\t\n"),
        (r"[\]\-]", "-]"),
    ],
)
def test_class_holds_what_it_names(text: str, characters: str) -> None:
    """Unions, intersections, and literal characters in brackets; no other subject."""
    assert sorted(held(text)) == sorted(characters)


@pytest.mark.parametrize("text", ["a-c", "a-b[e-f]", "a-f&&[def]", "a-f&&[^bc]", r"\d_", r"\Wa", r"\P{Lower}"])
def test_negation_is_of_the_whole_class(text: str) -> None:
    """Since Java 9 also of intersections with two ampersands."""
    assert set(held(f"[^{text}]")) == set(SUBJECTS) - set(held(f"[{text}]"))


@pytest.mark.parametrize(
    ("text", "says"),
    [("[a", "Unclosed character class"), ("[c-a]", "Illegal character range"), (r"[a-\d]", "Illegal character range")],
)
def test_invalid_class_is_refused_with_javas_message(text: str, says: str) -> None:
    """The message shows the position."""
    with pytest.raises(PatternError, match=says):
        compile_pattern(text)


@given(st.text(alphabet="abcxyzABZ019", min_size=1), st.text(alphabet="abcxyzABZ019", min_size=1))
def test_class_operators_behave_as_set_operations(one: str, other: str) -> None:
    """Laws of set operations hold for classes."""
    assert set(held(f"[{one}[{other}]]")) == set(one) | set(other)
    assert set(held(f"[{one}&&[{other}]]")) == set(one) & set(other)
    assert set(held(f"[{one}&&[^{other}]]")) == set(one) - set(other)
