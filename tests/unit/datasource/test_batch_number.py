"""Numbers of batch writes are unique and increasing."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hearth.datasource.batch_number import FIRST_MOMENT, MOMENTS, next_number
from hearth_api import ConfigError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep what is noted in a directory of the test's own."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path))
    return tmp_path


def test_number_is_the_time_of_the_write() -> None:
    """So one that is taken on another machine is most likely another, and a later one higher."""
    before = time.time() - FIRST_MOMENT
    number = next_number()
    assert int(before * MOMENTS) <= number <= int((time.time() - FIRST_MOMENT) * MOMENTS)


def test_concurrent_writes_have_different_numbers() -> None:
    """Whatever the clock says: no two have the same."""
    with ThreadPoolExecutor(8) as threads:
        numbers = list(threads.map(lambda _: next_number(), range(64)))
    assert len(set(numbers)) == 64


def test_numbers_grow_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sink that looks for the highest offset takes no later write for an earlier one."""
    first = next_number()
    monkeypatch.setattr(time, "time", lambda: FIRST_MOMENT + 1.0)
    assert [next_number(), next_number()] == [first + 1, first + 2]


def test_empty_file_counts_as_no_number(home: Path) -> None:
    """As a power cut may leave it."""
    next_number()
    (home / "datasource" / "batch-number").write_text("")
    assert next_number() > 0


def test_unwritable_directory_is_an_error_with_a_remedy(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write would otherwise hide what another has written."""
    (home / "file").touch()
    monkeypatch.setenv("HEARTH_HOME", str(home / "file"))
    with pytest.raises(ConfigError, match="cannot be stored in") as raised:
        next_number()
    assert "hearth.batch.id" in str(raised.value.hint)
