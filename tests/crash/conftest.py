"""Fixtures of the crash tests."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.pipeline import Pipeline
from tests.peer.topic import Topics


@pytest.fixture(scope="session")
def topics(broker: KafkaBroker) -> Topics:
    """Provide the topics of the shared broker."""
    return Topics(broker.bootstrap_servers)


@pytest.fixture
def pipeline(tmp_path: Path, topics: Topics) -> Iterator[Pipeline]:
    """Provide a pipeline that is not started; whatever becomes of it, nothing is left behind."""
    with closing(Pipeline(tmp_path, topics)) as described:
        yield described


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Provide chance that is the same in every run of a test."""
    return random.Random(zlib.crc32(request.node.name.encode()))
