"""Classes in brackets hold the characters that they hold in Java."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.java import PatternError, compile_pattern

SUBJECTS = "abcdefxyzABZ019-]^& _\t\né"
"""What each class is asked about."""


def held(text: str) -> str:
    """Return which of the subjects a class holds."""
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
    """Unions, what two have in common, and what stands for itself in brackets; nothing else of the subjects."""
    assert sorted(held(text)) == sorted(characters)


@pytest.mark.parametrize("text", ["a-c", "a-b[e-f]", "a-f&&[def]", "a-f&&[^bc]", r"\d_", r"\Wa", r"\P{Lower}"])
def test_negation_is_of_the_whole_class(text: str) -> None:
    """Since Java 9 also where parts of it stand between two ampersands."""
    assert set(held(f"[^{text}]")) == set(SUBJECTS) - set(held(f"[{text}]"))


@pytest.mark.parametrize(
    ("text", "says"),
    [("[a", "Unclosed character class"), ("[c-a]", "Illegal character range"), (r"[a-\d]", "Illegal character range")],
)
def test_class_that_is_none_is_refused_in_javas_words(text: str, says: str) -> None:
    """The message shows where."""
    with pytest.raises(PatternError, match=says):
        compile_pattern(text)


@given(st.text(alphabet="abcxyzABZ019", min_size=1), st.text(alphabet="abcxyzABZ019", min_size=1))
def test_parts_are_sets(one: str, other: str) -> None:
    """What holds for sets of characters holds for classes of them."""
    assert set(held(f"[{one}[{other}]]")) == set(one) | set(other)
    assert set(held(f"[{one}&&[{other}]]")) == set(one) & set(other)
    assert set(held(f"[{one}&&[^{other}]]")) == set(one) - set(other)
