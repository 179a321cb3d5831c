"""A client for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.rest.client import Client, serve


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Serve with the defaults."""
    yield from serve(tmp_path)
