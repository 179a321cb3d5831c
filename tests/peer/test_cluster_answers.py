"""A cluster worker's responses equal Java's, also where they differ from a standalone worker's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.peer.cases import WORKERS
from tests.peer.comparison import CLUSTER
from tests.peer.distributed import HearthDistributed
from tests.peer.rest_case import RestCase
from tests.peer.side import Side
from tests.peer.topic import Topics
from tests.peer.worker import Worker

pytestmark = pytest.mark.slow


def hearth(folder: Path, bootstrap_servers: str, settings: Mapping[str, str]) -> Worker:
    """Return a host of a cluster."""
    return HearthDistributed(folder, bootstrap_servers, settings["group.id"], settings)


@pytest.fixture(scope="module")
def side(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Side]:
    """Provide Hearth's side."""
    with Side(hearth, tmp_path_factory.mktemp("cluster"), Topics(broker.bootstrap_servers), WORKERS) as found:
        yield found


@pytest.mark.parametrize("case", CLUSTER.cases, ids=lambda case: case.name)
def test_responses_equal_javas(case: RestCase, side: Side) -> None:
    """A client of a cluster sees no difference."""
    expected = CLUSTER.kept.answer(case)
    assert CLUSTER.play(side, [case])[case.name] == expected
