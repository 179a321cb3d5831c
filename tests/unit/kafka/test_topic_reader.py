"""Topics are read from their start and followed; waits for the end cover all written records."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from hearth.broker import KafkaBroker
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.client import internal_config
from hearth.kafka.topic_reader import StoredRecord, TopicReader
from hearth_api import ConnectError, RetriableError
from tests.timeouts import TIMEOUT, eventually

_topics = (f"read-{number}" for number in itertools.count())


@pytest.fixture
def worker(broker: KafkaBroker) -> dict[str, str]:
    """Provide the settings of a host."""
    return {"bootstrap.servers": broker.bootstrap_servers, "group.id": "readers", "fetch.max.wait.ms": "20"}


@pytest.fixture
def admin(worker: dict[str, str]) -> TopicAdmin:
    """Provide an administrator."""
    return TopicAdmin(internal_config("admin", worker, "admin").config)


@pytest.fixture
def reader(worker: dict[str, str], admin: TopicAdmin) -> Iterator[TopicReader]:
    """Provide a reader that follows nothing yet."""
    reader = TopicReader(internal_config("consumer", worker, "reader").config, admin)
    yield reader
    reader.close()


@pytest.fixture
def topic(admin: TopicAdmin) -> str:
    """Provide a topic of two partitions."""
    name = next(_topics)
    admin.create(name, 2, 1, {"cleanup.policy": "compact"})
    assert eventually(lambda: admin.exists(name), TIMEOUT)
    return name


@pytest.fixture
def producer(worker: dict[str, str], topic: str) -> Producer:
    """Provide a producer that writes in transactions."""
    config = internal_config("producer", {**worker, "transactional.id": topic}, "writer").config
    producer = Producer(config)
    producer.init_transactions(TIMEOUT)
    return producer


def test_read_to_end_takes_everything_written(reader: TopicReader, topic: str, producer: Producer) -> None:
    """In order per partition, without aborted records and transaction markers."""
    taken: list[StoredRecord] = []
    for values, is_kept in (("ab", True), ("x", False), ("c", True)):
        producer.begin_transaction()
        for value, partition in itertools.product(values, (0, 1)):
            producer.produce(topic, value, "k", partition)
        producer.flush()
        producer.commit_transaction(TIMEOUT) if is_kept else producer.abort_transaction(TIMEOUT)
    reader.follow({topic: taken.append}, {topic: 2}, TIMEOUT)
    for partition in (0, 1):
        of_partition = [each for each in taken if each.partition == partition]
        assert [(each.value, each.offset) for each in of_partition] == [(b"a", 0), (b"b", 1), (b"c", 5)]
    reader.read_to_end([topic], TIMEOUT)
    producer.begin_transaction()
    producer.produce(topic, None, "k", 0)
    producer.commit_transaction(TIMEOUT)
    reader.wait_for({(topic, 0): 8}, TIMEOUT)
    assert (taken[-1].key, taken[-1].value, taken[-1].offset) == (b"k", None, 7)


def test_read_to_end_times_out(reader: TopicReader, topic: str, producer: Producer) -> None:
    """An open transaction blocks everything after it."""
    reader.follow({topic: lambda record: None}, {topic: 2}, TIMEOUT)
    producer.begin_transaction()
    producer.produce(topic, b"v", b"k", 1)
    producer.flush()
    with pytest.raises(
        RetriableError, match=f"partition 1 of topic '{topic}' was read up to offset 0, but its end is 1"
    ):
        reader.read_to_end([topic], 0.2)
    producer.abort_transaction(TIMEOUT)
    reader.read_to_end([topic], TIMEOUT)


def test_another_topic_is_followed_later(
    reader: TopicReader, admin: TopicAdmin, topic: str, producer: Producer
) -> None:
    """A reader that fails on a record continues with the next."""
    other = next(_topics)
    admin.create(other, 1, 1)
    assert eventually(lambda: admin.exists(other), TIMEOUT)
    taken: list[bytes | None] = []

    def take(record: StoredRecord) -> None:
        if record.value == b"bad":
            raise TypeError("what is this?")
        taken.append(record.value)

    reader.follow({topic: lambda record: None}, {topic: 2}, TIMEOUT)
    producer.begin_transaction()
    for value in (b"bad", b"good"):
        producer.produce(other, value)
    producer.commit_transaction(TIMEOUT)
    reader.follow({other: take}, {other: 1}, TIMEOUT)
    assert taken == [b"good"]


def test_closed_reader_raises_in_waits(reader: TopicReader, topic: str) -> None:
    """It says so."""
    reader.follow({topic: lambda record: None}, {topic: 2}, TIMEOUT)
    reader.close()
    with pytest.raises(ConnectError, match="the reader of the cluster's topics is closed"):
        reader.wait_for({(topic, 0): 1}, TIMEOUT)
