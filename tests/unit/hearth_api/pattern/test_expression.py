"""Java's regular expressions match and refuse here what they do in Java."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api.java import PatternError, compile_pattern

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "pattern.json").read_text("ascii"))
# Python learned these forms in 3.11.
NEEDS_NEWER = {"a++b", "a*+a", "a{2}+", "(?>a|ab)c"} if sys.version_info < (3, 11) else set()


@pytest.mark.parametrize("case", GOLDEN["patterns"], ids=lambda case: ascii(case["pattern"]))
def test_expression_matches_or_is_refused_as_in_java(case: dict[str, Any]) -> None:
    """The same subjects match whole and in part; what Java refuses is refused with Java's message."""
    text = case["pattern"]
    if "error" in case or text in NEEDS_NEWER:
        with pytest.raises(PatternError) as caught:
            compile_pattern(text)
        assert text in NEEDS_NEWER or str(caught.value) == case["error"]
        return
    pattern = compile_pattern(text)
    assert [subject for subject in GOLDEN["subjects"] if pattern.fullmatch(subject)] == case["matches"]
    assert [subject for subject in GOLDEN["subjects"] if pattern.search(subject)] == case["finds"]


@pytest.mark.parametrize("text", ["(?<=a*)b", r"(?U)\w", r"\p{IsGreek}", r"\X"])
def test_what_python_cannot_do_is_refused_and_never_matched_differently(text: str) -> None:
    """A user is told about the few forms that have no counterpart."""
    with pytest.raises(PatternError):
        compile_pattern(text)


@given(st.text(max_size=20))
def test_any_text_compiles_or_is_a_pattern_error(text: str) -> None:
    """No expression a user may write ends in any other exception or in a warning."""
    try:
        pattern = compile_pattern(text)
    except PatternError:
        return
    assert isinstance(pattern, re.Pattern)


@given(st.text(alphabet="ab()[]{}|*+?^$.\\&-,12:<>=!ipPdwQE#~ ", max_size=12))
def test_any_tangle_of_syntax_compiles_or_is_a_pattern_error(text: str) -> None:
    """As above, with texts in which nearly every character means something."""
    try:
        compile_pattern(text)
    except PatternError:
        return


@given(st.text())
def test_quoted_text_matches_itself_only(text: str) -> None:
    r"""What stands between `\Q` and `\E` is taken literally."""
    if r"\E" not in text:
        pattern = compile_pattern(rf"\Q{text}\E")
        assert pattern.fullmatch(text)
        assert not pattern.fullmatch(text + "x")
