"""Tests beside each other: as many as the machine carries, the longest first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.side_by_side import LONGEST_FIRST, TOGETHER, are_chosen, available_memory, rank, scope, worker_count

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("place", [*LONGEST_FIRST, *(place for places in TOGETHER for place in places)])
def test_every_place_that_is_named_has_tests(place: str) -> None:
    """What was renamed would begin last, or start what others have, without a word."""
    path = _ROOT / place
    assert path.is_file() if path.suffix else list(path.glob("**/test_*.py"))


def test_what_takes_long_begins_first() -> None:
    """All else comes behind, in the order in which it was found."""
    tests = ["plugins/a.py::a", "tests/unit/cli/b.py::b", "tests/crash/c.py::c[1]", "tests/peer/d.py::d"]
    assert sorted(tests, key=rank) == [*reversed(tests[2:]), *tests[:2]]


def test_files_that_share_a_host_go_to_one_process() -> None:
    """Each other file goes where there is time for it."""
    (lasting,), *_, (first, *_, last) = TOGETHER
    places = {
        f"{lasting}test_a.py": lasting,
        f"{lasting}test_b.py": lasting,
        first: first,
        last: first,
        "x.py": "x.py",
    }
    assert {file: scope(f"{file}::test[a::b]") for file in places} == places


def test_all_files_that_use_the_host_of_the_integration_tests_share_it() -> None:
    """One that is not named starts another in a process of its own."""
    files = (_ROOT / "tests" / "integration").glob("test_*.py")
    users = [each for each in files if re.search(r"conftest import .*\bHost\b", each.read_text("utf-8"))]
    assert sorted(str(each.relative_to(_ROOT)) for each in users) == sorted(TOGETHER[-1])


@pytest.mark.parametrize(
    ("cores", "memory", "count"), [(1, 1.0, 2), (2, 5.2, 2), (2, 7.9, 3), (4, 7.9, 3), (2, 20, 5), (4, 20, 7)]
)
def test_workers_follow_cores_and_memory(cores: int, memory: float, count: int) -> None:
    """Two there are in any case."""
    assert worker_count(cores, memory) == count


@pytest.mark.parametrize(
    ("keyword", "places", "is_choice"),
    [
        ("", ["tests", "plugins"], False),
        ("", ["tests/crash"], False),
        ("offsets", ["tests", "plugins"], True),
        ("", ["tests/unit/test_profile.py"], True),
        ("", ["tests/unit", "tests/unit/test_readme.py::test_it[a]"], True),
    ],
)
def test_few_tests_need_no_other_process(keyword: str, places: list[str], is_choice: bool) -> None:
    """Who looks at one thing does not wait until the others have found everything as well."""
    assert are_chosen(keyword, places) is is_choice


def test_memory_is_what_the_kernel_says(tmp_path: Path) -> None:
    """Not what the machine has, but what others leave of it."""
    told = tmp_path / "meminfo"
    told.write_text("MemTotal:       24684312 kB\nMemFree:         1024 kB\nMemAvailable:    2621440 kB\n")
    assert available_memory(told) == 2.5
