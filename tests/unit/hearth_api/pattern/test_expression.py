"""Java's regular expressions match here as they do in Java, and are refused as in Java."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.java import PatternError, compile_pattern, compile_replacement
from hearth_api.pattern import syntax

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "pattern.json").read_text("ascii"))
ATOMIC = [
    "a++b", "a*+a", "a?+a", "a{1,2}+a", "a{2}+", "(?>a|ab)c", "(?>(a)|b)*c", "(?:(a|b)++c)*+", "(?i:(?>a|AB))c",
    "(?>a(?>b|bc))*c", r"(a)(?>b+)(c)\2\1", r"(?>(a)\1)++(b)?\2", r"(?<x>a)++(b)\k<x>\2",
]  # fmt: skip


@pytest.fixture
def oldest(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Translate for a Python without atomic groups."""
    monkeypatch.setattr(syntax, "_ATOMIC_SINCE", (9, 9))
    compile_pattern.cache_clear()
    yield
    compile_pattern.cache_clear()


@pytest.mark.parametrize("case", GOLDEN["patterns"], ids=lambda case: ascii(case["pattern"]))
def test_expression_matches_or_is_refused_as_in_java(case: dict[str, Any]) -> None:
    """The same subjects match whole and in part; invalid expressions are refused with Java's message."""
    text = case["pattern"]
    if "error" in case:
        with pytest.raises(PatternError) as caught:
            compile_pattern(text)
        assert str(caught.value) == case["error"]
        return
    pattern = compile_pattern(text)
    assert [subject for subject in GOLDEN["subjects"] if pattern.fullmatch(subject)] == case["matches"]
    assert [subject for subject in GOLDEN["subjects"] if pattern.search(subject)] == case["finds"]


@pytest.mark.usefixtures("oldest")
def test_expressions_are_the_same_without_atomic_groups() -> None:
    """Python has them from 3.11 on."""
    for case in GOLDEN["patterns"]:
        test_expression_matches_or_is_refused_as_in_java(case)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="requires Python's atomic groups for comparison")
@pytest.mark.parametrize("text", ATOMIC)
def test_emulated_atomic_group_matches_like_an_atomic_group(text: str, request: pytest.FixtureRequest) -> None:
    """It matches every short text at the same places, with the same user groups."""
    texts = ["".join(letters) for size in range(8) for letters in itertools.product("abc", repeat=size)]
    groups = compile_pattern(text).groups

    def answers() -> list[str]:
        pattern = compile_pattern(text)
        parts = [compile_replacement(part, pattern) for part in (f"<${number}>" for number in range(groups + 1))]
        return [pattern.sub(lambda match: "".join(part(match) for part in parts), each) for each in texts]

    native = answers()
    request.getfixturevalue("oldest")
    assert "_own" in compile_pattern(text).pattern
    assert answers() == native
    with pytest.raises(PatternError, match=f"No group {groups + 1}"):
        compile_replacement(f"${groups + 1}", compile_pattern(text))


@pytest.mark.parametrize("text", ["(?<=a*)b", r"(?U)\w", r"\p{IsGreek}", r"\X"])
def test_unsupported_expression_is_refused(text: str) -> None:
    """The few forms without a counterpart raise an error and never match differently."""
    with pytest.raises(PatternError):
        compile_pattern(text)


@given(st.text(max_size=20))
def test_any_text_compiles_or_is_a_pattern_error(text: str) -> None:
    """No expression causes any other exception or a warning."""
    try:
        pattern = compile_pattern(text)
    except PatternError:
        return
    assert isinstance(pattern, re.Pattern)


@given(st.text(alphabet="ab()[]{}|*+?^$.\\&-,12:<>=!ipPdwQE#~ ", max_size=12))
def test_any_sequence_of_syntax_compiles_or_is_a_pattern_error(text: str) -> None:
    """As above, with texts in which nearly every character is syntax."""
    try:
        compile_pattern(text)
    except PatternError:
        return


@given(st.text())
def test_quoted_text_matches_itself_only(text: str) -> None:
    r"""Text between `\Q` and `\E` is literal."""
    if r"\E" not in text:
        pattern = compile_pattern(rf"\Q{text}\E")
        assert pattern.fullmatch(text)
        assert not pattern.fullmatch(text + "x")
