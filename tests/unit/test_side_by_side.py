"""Parallel tests: as many as the machine can run, the slowest first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.side_by_side import LONGEST_FIRST, TOGETHER, are_chosen, available_memory, rank, scope, worker_count

_ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("place", [*LONGEST_FIRST, *(place for places in TOGETHER for place in places)])
def test_every_listed_place_has_tests(place: str) -> None:
    """After a rename a place would silently start last, or start fixtures of its own."""
    path = _ROOT / place
    assert path.is_file() if path.suffix else list(path.glob("**/test_*.py"))


def test_slow_tests_start_first() -> None:
    """Other tests follow, in the order of collection."""
    tests = ["plugins/a.py::a", "tests/unit/cli/b.py::b", "tests/crash/c.py::c[1]", "tests/peer/d.py::d"]
    assert sorted(tests, key=rank) == [*reversed(tests[2:]), *tests[:2]]


def test_files_that_share_a_host_go_to_one_process() -> None:
    """Every other file goes to the next free process."""
    (lasting,), *_, (first, *_, last) = TOGETHER
    places = {
        f"{lasting}test_a.py": lasting,
        f"{lasting}test_b.py": lasting,
        first: first,
        last: first,
        "x.py": "x.py",
    }
    assert {file: scope(f"{file}::test[a::b]") for file in places} == places


def test_all_users_of_the_integration_host_share_it() -> None:
    """A file that is missing from the group would start another host."""
    files = (_ROOT / "tests" / "integration").glob("**/test_*.py")
    users = [each for each in files if re.search(r"conftest import .*\b(Host|Cli)\b", each.read_text("utf-8"))]
    assert sorted(str(each.relative_to(_ROOT)) for each in users) == sorted(TOGETHER[-1])


@pytest.mark.parametrize(
    ("cores", "memory", "count"), [(1, 1.0, 2), (2, 5.2, 2), (2, 7.9, 3), (4, 7.9, 3), (2, 20, 5), (4, 20, 7)]
)
def test_workers_follow_cores_and_memory(cores: int, memory: float, count: int) -> None:
    """Two in any case."""
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
def test_selected_tests_run_in_one_process(keyword: str, places: list[str], is_choice: bool) -> None:
    """A single test does not wait for the collection in other processes."""
    assert are_chosen(keyword, places) is is_choice


def test_memory_is_the_kernels_available_memory(tmp_path: Path) -> None:
    """Not the machine's total memory, but what other programs leave."""
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       24684312 kB\nMemFree:         1024 kB\nMemAvailable:    2621440 kB\n")
    assert available_memory(meminfo) == 2.5
