"""Fixtures for a served client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.foundation.certificate import make_identity
from tests.unit.rest.client import Client, serve


@pytest.fixture(scope="session")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide a PEM file with a key and its certificate."""
    made = make_identity()
    path = tmp_path_factory.mktemp("tls") / "identity.pem"
    path.write_text(made.key + made.certificate)
    return path


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Serve with the defaults."""
    yield from serve(tmp_path)
