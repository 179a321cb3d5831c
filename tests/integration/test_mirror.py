"""MirrorMaker's source connector, with Kafka clients of its own, copies a topic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.peer.hearth_connect import HearthConnect
from tests.peer.plugin_list import place
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
RECORDS = tuple(
    Record(b"k%d" % n, b"\x00value %d" % n if n % 5 else None, (("h", b"%d" % n),), partition=n % 2) for n in range(40)
)


@pytest.fixture
def worker(broker: KafkaBroker, tmp_path: Path) -> Iterator[HearthConnect]:
    """Run a worker with MirrorMaker's connectors."""
    (tmp_path / "plugins").mkdir()
    place("connect-mirror", tmp_path / "plugins")
    settings = {"plugin.path": str(tmp_path / "plugins"), "offset.flush.interval.ms": "500"}
    started = HearthConnect(tmp_path, broker.bootstrap_servers, settings, [])
    started.start()
    yield started
    started.stop()


def test_topic_is_copied_as_it_is(worker: HearthConnect, broker: KafkaBroker) -> None:
    """Keys, values, tombstones, headers and partitions are those of the original."""
    topics = Topics(broker.bootstrap_servers)
    topics.create("mirrored", 2)
    topics.produce("mirrored", RECORDS)
    config = {
        "name": "mirror",
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "near",
        "target.cluster.alias": "far",
        "source.cluster.bootstrap.servers": broker.bootstrap_servers,
        "target.cluster.bootstrap.servers": broker.bootstrap_servers,
        "topics": "mirrored",
        "tasks.max": "2",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
    }
    worker.run(config)

    def copies() -> int:
        return topics.count("near.mirrored") if "near.mirrored" in topics.names() else 0

    assert eventually(lambda: copies() == len(RECORDS), TIMEOUT), worker.last_words()
    original, copy = (
        {each.key: (each.partition, each.value, each.headers) for each in topics.read(name)}
        for name in ("mirrored", "near.mirrored")
    )
    assert copy == original
