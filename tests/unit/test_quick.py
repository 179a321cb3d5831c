"""The quick part of the suite starts nothing, and what it leaves out exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import STARTS_PROGRAMS, is_quick

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("place", STARTS_PROGRAMS)
def test_a_place_that_is_left_out_exists(place: str) -> None:
    folder, _, name = place.rpartition("/")
    assert list((ROOT / folder).glob(f"{name}*")), place


def test_a_test_with_a_broker_or_in_a_place_that_starts_programs_is_left_out() -> None:
    assert is_quick("tests/unit/hearth_api/test_struct.py::test_it", ["tmp_path"])
    assert not is_quick("tests/unit/hearth_api/test_struct.py::test_it", ["tmp_path", "broker"])
    assert not is_quick("tests/unit/isolation/test_stage.py::test_it", [])
