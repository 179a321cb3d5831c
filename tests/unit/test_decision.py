"""The index lists every decision, and each number that the code cites is one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECISIONS = ROOT / "host" / "decisions"
FILES = sorted(DECISIONS.glob("*/*.md"))
INDEX = (DECISIONS / "README.md").read_text(encoding="utf-8")
STATUS = re.compile(
    r"(Accepted|Superseded) \d{4}-\d\d-\d\d(, extended \d{4}-\d\d-\d\d)?\."
    r"( Was \d{4}(, \d{4})*( and a part of \d{4})?\.)?"
)
CITED = re.compile(r"decisions? (\d{4})")
CODE = [
    path
    for folder in ("host", "plugins", "tests", "tools")
    for ending in ("*.py", "*.pyx", "*.pxd", "*.pxi", "*.md", "*.toml")
    for path in (ROOT / folder).rglob(ending)
    if DECISIONS not in path.parents and path != Path(__file__)
]


def first_lines(path: Path) -> tuple[str, str]:
    """Return the title of a decision, and its status, on one line."""
    title, status, *_ = path.read_text(encoding="utf-8").split("\n\n")
    return title.removeprefix("# "), " ".join(status.split())


def listed() -> list[tuple[str, str]]:
    """Return the titles and paths that the index lists, in order."""
    return re.findall(r"^- \[(.+)\]\((.+\.md)\)$", INDEX, re.MULTILINE)


def test_the_index_lists_each_decision_by_its_title() -> None:
    expected = [(first_lines(path)[0], path.relative_to(DECISIONS).as_posix()) for path in FILES]
    assert sorted(listed(), key=lambda each: each[1]) == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_decision_states_its_status_and_its_date(path: Path) -> None:
    title, status = first_lines(path)
    assert STATUS.fullmatch(status), status
    assert not title.endswith(".")
    assert "**Decision.**" in path.read_text(encoding="utf-8") or "| --- |" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_links_between_decisions_resolve(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+\.md)[^)]*\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).is_file(), target


def test_decision_numbers_cited_in_code_exist() -> None:
    aliases = {number for path in FILES for number in re.findall(r"\b0\d{3}\b", first_lines(path)[1])}
    cited = {number for path in CODE for number in CITED.findall(path.read_text(encoding="utf-8"))}
    assert cited - aliases == set()
