"""Hearth goes on where a Java cluster has stopped Debezium in the middle of a stream, and gives it back."""

from __future__ import annotations

import tarfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.counters import KEYS, TABLE, arrived, connector, counting, last_numbers, numbers, repeats
from tests.mariadb import is_installed, serving
from tests.peer.distributed import HearthDistributed, JavaDistributed
from tests.peer.plugin_list import place
from tests.peer.topic import Topics
from tests.peer.worker import Worker
from tests.timeouts import eventually

pytestmark = [pytest.mark.long, pytest.mark.skipif(not is_installed(), reason="this machine has no MariaDB")]

GROUP = "debezium-takeover"
SECONDS_TO_FLOW = 120.0


def test_stream_moves_from_java_to_hearth_and_back(broker: KafkaBroker, tmp_path: Path) -> None:
    """Each worker stops in order, so no change is missing and none comes twice."""
    plugins, topics = tmp_path / "plugins", Topics(broker.bootstrap_servers)
    plugins.mkdir()
    with tarfile.open(place("debezium-connector-mariadb", tmp_path)) as archive:
        archive.extractall(plugins, filter="data")
    settings = {"plugin.path": str(plugins), "offset.flush.interval.ms": "500"}
    java = JavaDistributed(tmp_path / "java", broker.bootstrap_servers, GROUP, settings)
    hearth = HearthDistributed(tmp_path / "hearth", broker.bootstrap_servers, GROUP, settings)

    def flows(worker: Worker) -> bool:
        before = arrived(topics)
        return eventually(lambda: arrived(topics) > before + KEYS, SECONDS_TO_FLOW)

    with serving() as database:
        database.run(TABLE)
        with ExitStack() as stack:
            stack.enter_context(java)
            java.run(connector(database, broker))
            assert eventually(lambda: arrived(topics) == KEYS, SECONDS_TO_FLOW), java.last_words()
            stack.enter_context(counting(database))
            assert flows(java), java.last_words()
            java.stop()
            for worker in (hearth, java, hearth):
                with worker:
                    assert flows(worker), worker.last_words()
                print(f"{worker.side}: {sum(map(repeats, numbers(topics).values()))} changes came twice so far")
        last = last_numbers(database)
        with hearth:
            assert eventually(
                lambda: {key: max(found) for key, found in numbers(topics).items()} == last, SECONDS_TO_FLOW
            )
        assert sum(map(repeats, numbers(topics).values())) == 0
