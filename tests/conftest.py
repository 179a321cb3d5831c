"""Fixtures that tests of every kind share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from hearth.broker import KafkaBroker
from hearth.broker.port import random_free

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets programs in its background ignore Ctrl-C, and the programs that tests start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Provide one real broker for all tests of this process; a test that kills it starts its own instead."""
    with KafkaBroker(tmp_path_factory.mktemp("broker"), random_free(), retention_bytes=256 << 20) as running:
        yield running
