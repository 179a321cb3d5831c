"""The same REST requests to Java's Kafka Connect and to Hearth: same codes, same texts, same JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from hearth.broker import KafkaBroker
from tests.peer.hearth_connect import HearthConnect
from tests.peer.java_connect import JavaConnect
from tests.peer.rest_case import RestCase, play
from tests.peer.rest_cases import REST_CASES
from tests.peer.worker import Worker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.xdist_group("peer-rest")]


@pytest.fixture(scope="module")
def java(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """Provide a running Java Connect."""
    with JavaConnect(tmp_path_factory.mktemp("java"), broker.bootstrap_servers) as worker:
        yield worker


@pytest.fixture(scope="module")
def hearth(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """Provide a running Hearth."""
    with HearthConnect(tmp_path_factory.mktemp("hearth"), broker.bootstrap_servers) as worker:
        yield worker


@pytest.mark.parametrize("case", REST_CASES, ids=lambda case: case.name)
def test_answers_are_the_same_on_both_sides(case: RestCase, java: Worker, hearth: Worker) -> None:
    """A client written for Kafka Connect's REST API sees no difference."""
    assert play(case, hearth) == play(case, java)


def test_plugins_hearth_has_are_listed_as_java_lists_them(java: Worker, hearth: Worker) -> None:
    """A plugin of Kafka's own has the same class name, type and version on both sides."""
    expected, found = (_plugins(worker) for worker in (java, hearth))
    assert found
    assert {name: found[name] for name in found if name in expected} == {
        name: expected[name] for name in expected if name in found
    }
    assert not [name for name in expected if name not in found and ".file." in name]


def _plugins(worker: Worker) -> dict[str, str]:
    answer = worker.rest.call("GET", "/connector-plugins?connectorsOnly=false").json
    return {row["class"]: json.dumps(row) for row in answer}
