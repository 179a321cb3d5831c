"""Java's answers are kept for every present case, and for no other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.peer.cases import CASES, WORKERS
from tests.peer.comparison import COMPARISONS, Comparison
from tests.peer.kept import CHECKOUT, KeptAnswers, digest, plain


@dataclass(frozen=True)
class Question:
    """A case."""

    name: str
    text: str = ""
    path: Path | None = None


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.kept.path.stem)
def test_every_case_has_its_answer(comparison: Comparison[Any]) -> None:
    """`python -m tests.peer.record` runs the missing cases on Java, and removes answers of removed ones."""
    names = [case.name for case in comparison.cases]
    assert len(names) == len(set(names))
    assert comparison.kept.unanswered(comparison.cases) == set()
    assert comparison.kept.names() == set(names)


def test_workers_of_cases_exist() -> None:
    """Every case names an existing worker configuration."""
    assert {case.worker for case in CASES} <= set(WORKERS)


def test_a_changed_case_has_no_answer(tmp_path: Path) -> None:
    """A changed case has no answer, and the message has the remedy."""
    kept, case = KeptAnswers("kind", tmp_path), Question("a", "x")
    kept.keep([case], {"a": ["\u2028", None]})
    assert KeptAnswers("kind", tmp_path).answer(case) == ["\u2028", None]
    assert kept.unanswered([case]) == set()
    changed = replace(case, text="y")
    assert kept.unanswered([changed, Question("b")]) == {"a", "b"}
    with pytest.raises(AssertionError, match=r"present form of 'a'; run `python -m tests\.peer\.record`"):
        kept.answer(changed)


def test_kept_answers_stay_and_unused_ones_are_removed(tmp_path: Path) -> None:
    """Java runs only new cases."""
    kept, a, b, c = KeptAnswers("kind", tmp_path), Question("a"), Question("b"), Question("c")
    kept.keep([a, b], {"a": 1, "b": 2})
    kept.keep([c, a], {"c": 3})
    assert kept.names() == {"a", "c"}
    assert (kept.answer(a), kept.answer(c)) == (1, 3)


def test_a_digest_identifies_the_contents_of_a_case() -> None:
    """It is equal in every checkout, and does not change when a field is added with a default."""

    @dataclass(frozen=True)
    class Longer(Question):
        more: tuple[str, ...] = ()

    assert digest(Longer("a", "x")) == digest(Question("a", "x")) != digest(Longer("a", "x", None, ("y",)))
    assert digest(Question("a", str(CHECKOUT / "x"))) == digest(Question("a", "/x"))


def test_short_utf8_bytes_are_kept_as_text() -> None:
    """Other bytes have another form, and for long ones the digest suffices to compare."""
    assert (plain(None), plain(b""), plain("ä".encode()), plain(b"\xff")) == (None, "", "ä", {"hex": "ff"})
    assert plain(b"x" * 3000) == plain(b"x" * 3000) != plain(b"x" * 2999 + b"y")
