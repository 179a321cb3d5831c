"""Fixtures that tests of every kind share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hearth.broker import KafkaBroker
from hearth.broker.port import random_free


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Provide one real broker for all tests of this process; a test that kills it starts its own instead."""
    with KafkaBroker(tmp_path_factory.mktemp("broker"), random_free(), retention_bytes=256 << 20) as running:
        yield running
