"""Fixtures of the crash tests."""

from __future__ import annotations

import random
import zlib

import pytest

from hearth.broker import KafkaBroker
from tests.peer.topic import Topics


@pytest.fixture(scope="session")
def topics(broker: KafkaBroker) -> Topics:
    """Provide the topics of the shared broker."""
    return Topics(broker.bootstrap_servers)


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Provide a random generator with a fixed seed for each test."""
    return random.Random(zlib.crc32(request.node.name.encode()))
