"""A host, tasks and the network between them for the tests of either end of the task link."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from hearth.link import heartbeat
from tests.unit.link.link_world import Guest, Host, Wire


@pytest.fixture
def host() -> Iterator[Host]:
    """Provide a host that listens."""
    opened = Host()
    yield opened
    opened.server.close()


@pytest.fixture
def guests() -> Iterator[list[Guest]]:
    """Provide some tasks that are not linked yet."""
    opened = [Guest() for _ in range(3)]
    yield opened
    for guest in opened:
        guest.close()


@pytest.fixture
def wire(host: Host) -> Iterator[Wire]:
    """Provide a network before the host."""
    opened = Wire(host.server.address)
    yield opened
    opened.close()


@pytest.fixture
def own_log() -> Iterator[None]:
    """Put back who listens to the loggers, which a test may change."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> float:
    """Shorten the silence after which a side counts as lost; even a busy machine sends heartbeats in that time."""
    monkeypatch.setattr(heartbeat, "HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(heartbeat, "SILENCE_SECONDS", 2.0)
    monkeypatch.setattr(heartbeat, "LAST_RESORT_SECONDS", 0.2)
    return 2.0
