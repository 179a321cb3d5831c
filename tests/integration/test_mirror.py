"""MirrorMaker's three connectors, with Kafka clients of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

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


def connector(kind: str, broker: KafkaBroker, settings: dict[str, str]) -> dict[str, str]:
    """Return the configuration of one of MirrorMaker's connectors; both its clusters are the one broker."""
    return {
        "name": kind,
        "connector.class": f"org.apache.kafka.connect.mirror.Mirror{kind}Connector",
        "source.cluster.alias": "near",
        "target.cluster.alias": "far",
        "source.cluster.bootstrap.servers": broker.bootstrap_servers,
        "target.cluster.bootstrap.servers": broker.bootstrap_servers,
        **dict.fromkeys(("key.converter", "value.converter", "header.converter"), BYTES),
        **settings,
    }


def read_up_to(broker: KafkaBroker, topic: str, offset: int) -> None:
    """Commit an offset of both partitions of a topic in the group `readers`."""
    with consumer(broker, "readers") as reader:
        reader.commit(offsets=[TopicPartition(topic, each, offset) for each in range(2)], asynchronous=False)


def offsets_of(broker: KafkaBroker, topic: str) -> list[int]:
    """Return the offsets of both partitions of a topic that the group `readers` has committed."""
    with consumer(broker, "readers") as reader:
        found = reader.committed([TopicPartition(topic, each) for each in range(2)], timeout=TIMEOUT)
        return [each.offset for each in found]


@contextmanager
def consumer(broker: KafkaBroker, group: str) -> Iterator[Consumer]:
    """Provide a consumer of a group that reads nothing."""
    made = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group, "enable.auto.commit": False})
    try:
        yield made
    finally:
        made.close()


def test_topic_groups_and_heartbeats_are_mirrored(worker: HearthConnect, broker: KafkaBroker) -> None:
    """Keys, values, tombstones, headers and partitions are those of the original, and groups continue in the copy."""
    topics = Topics(broker.bootstrap_servers)
    topics.create("mirrored", 2)
    topics.produce("mirrored", RECORDS)
    copying = {"topics": "mirrored", "tasks.max": "2", "replication.factor": "1", "sync.topic.acls.enabled": "false"}
    syncing = {"offset-syncs.topic.replication.factor": "1", "offset.lag.max": "0"}
    worker.run(connector("Source", broker, {**copying, **syncing}))

    def copies() -> int:
        return topics.count("near.mirrored") if "near.mirrored" in topics.names() else 0

    assert eventually(lambda: copies() == len(RECORDS), TIMEOUT), worker.last_words()
    original, copy = (
        {each.key: (each.partition, each.value, each.headers) for each in topics.read(name)}
        for name in ("mirrored", "near.mirrored")
    )
    assert copy == original
    read_up_to(broker, "mirrored", len(RECORDS) // 2)
    each_second = {"emit.checkpoints.interval.seconds": "1", "sync.group.offsets.interval.seconds": "1"}
    groups = {"groups": "readers", "sync.group.offsets.enabled": "true", "checkpoints.topic.replication.factor": "1"}
    worker.run(connector("Checkpoint", broker, {**groups, **each_second, "topics": "mirrored"}))
    beats = {"emit.heartbeats.interval.seconds": "1", "heartbeats.topic.replication.factor": "1"}
    worker.run(connector("Heartbeat", broker, beats))
    ends = [len(RECORDS) // 2] * 2
    assert eventually(lambda: offsets_of(broker, "near.mirrored") == ends, TIMEOUT), worker.last_words()
    written = ("near.checkpoints.internal", "heartbeats")
    assert eventually(lambda: all(topics.count(name) > 1 for name in written), TIMEOUT), worker.last_words()
    assert {b"readers" in (each.key or b"") for each in topics.read("near.checkpoints.internal")} == {True}
