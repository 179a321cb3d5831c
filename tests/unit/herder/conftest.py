"""A herder for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.herder.fake import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Make a herder, and stop it after the test."""
    made = Bench(tmp_path)
    yield made
    made.herder.shut_down()
