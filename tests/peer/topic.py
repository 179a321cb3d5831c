"""Topics of the test broker: created, filled, read to their ends, deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from tests.timeouts import TIMEOUT, eventually

_NOT_YET = (KafkaError._UNKNOWN_PARTITION, KafkaError.NOT_LEADER_FOR_PARTITION)
"""Errors of a broker for a moment after its start, or after the creation of a topic."""


@dataclass(frozen=True)
class Record:
    """A Kafka record without its timestamp and offset; headers in order."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    timestamp: int | None = None


class Topics:
    """The topics of one broker; one admin client serves for the whole run.

    confluent-kafka may crash when an admin client is collected while its futures are pending.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self._admin: Any = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 2})

    def create(self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Create a topic; wait for the deletion of an old one with this name."""
        wanted = NewTopic(name, partitions, 1, config=dict(settings or {}))
        made = eventually(lambda: self._create_unless_there(wanted), TIMEOUT)
        assert made, f"topic {name} still exists"

    def _create_unless_there(self, wanted: Any) -> bool:
        future = self._admin.create_topics([wanted])[wanted.topic]
        return _succeeds(future, KafkaError.TOPIC_ALREADY_EXISTS)

    def configure(self, name: str, settings: Mapping[str, str]) -> None:
        """Change settings of a topic, and wait until the broker shows them."""
        changed, shown = (ConfigResource(ConfigResource.Type.TOPIC, name) for _ in range(2))
        for key, value in settings.items():
            changed.add_incremental_config(ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET))
        self._admin.incremental_alter_configs([changed])[changed].result()

        def is_set() -> bool:
            entries = self._admin.describe_configs([shown])[shown].result()
            return all(entries[key].value == value for key, value in settings.items())

        assert eventually(is_set, TIMEOUT), f"settings of {name} were not changed"

    def widen(self, name: str, partitions: int) -> None:
        """Grow a topic to ``partitions`` partitions; wait for an unavailable broker."""
        wanted = NewPartitions(name, partitions)
        future = self._admin.create_partitions([wanted], request_timeout=TIMEOUT)[name]
        _succeeds(future, KafkaError.INVALID_PARTITIONS)  # it has them already: a response was lost

    def delete(self, names: Iterable[str]) -> None:
        """Delete topics; ignore those that do not exist."""
        wanted = [name for name in names if name in self.names()]
        for future in self._admin.delete_topics(wanted).values() if wanted else []:
            future.result(TIMEOUT)

    def delete_groups(self, names: Iterable[str]) -> None:
        """Delete consumer groups with their offsets; ignore those that do not exist or still have members.

        A static member stays in its group after its process ends, until its session expires.
        """
        wanted = list(names)
        for future in self._admin.delete_consumer_groups(wanted).values() if wanted else []:
            _succeeds(future, KafkaError.GROUP_ID_NOT_FOUND, KafkaError.NON_EMPTY_GROUP)

    @property
    def cluster_id(self) -> str:
        """Return the brokers' cluster id."""
        return str(self._admin.list_topics(timeout=TIMEOUT).cluster_id)

    def names(self) -> set[str]:
        """Return the names of all topics."""
        return set(self._admin.list_topics(timeout=TIMEOUT).topics)

    def produce(self, topic: str, records: Iterable[Record]) -> None:
        """Write records in order and return when the broker has acknowledged them all."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "linger.ms": 5, "acks": "all"})
        for record in records:
            options = {} if record.timestamp is None else {"timestamp": record.timestamp}
            headers = list(record.headers)
            producer.produce(topic, record.value, record.key, headers=headers, partition=record.partition, **options)
        assert producer.flush(TIMEOUT) == 0

    def count(self, topic: str) -> int:
        """Return the number of records ever written to a topic, 0 if it does not exist."""
        consumer = self._consumer()
        try:
            return sum(high for _, _, high in self._ends(consumer, topic))
        finally:
            consumer.close()

    @contextmanager
    def watched(self, *topics: str, partitions: int = 1) -> Iterator[Callable[[], int]]:
        """Provide a function that cheaply returns the number of records in topics with ``partitions`` partitions.

        It returns 0 if a topic does not exist: a new topic takes a moment to get into the metadata and to have
        leaders.
        """
        consumer = self._consumer()
        places = [TopicPartition(topic, number) for topic in topics for number in range(partitions)]

        def counted() -> int:
            try:
                return sum(int(consumer.get_watermark_offsets(each, timeout=TIMEOUT)[1]) for each in places)
            except KafkaException as error:
                if error.args[0].code() not in _NOT_YET:
                    raise
                return 0

        try:
            yield counted
        finally:
            consumer.close()

    def read(self, topic: str) -> list[Record]:
        """Return all records of a topic, partition by partition, in order."""
        consumer = self._consumer()
        try:
            ends = self._ends(consumer, topic)
            consumer.assign([TopicPartition(topic, number, low) for number, low, _ in ends])
            wanted = sum(high - low for _, low, high in ends)
            return sorted(_messages(consumer, wanted), key=lambda record: record.partition)
        finally:
            consumer.close()

    def _consumer(self) -> Any:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": "peer-reader",
                "enable.auto.commit": False,
                "allow.auto.create.topics": False,
                "log_level": 2,
            }
        )

    def _ends(self, consumer: Any, topic: str) -> Sequence[tuple[int, int, int]]:
        """Return partition, first offset and end offset of each partition."""
        if topic not in self.names():
            return []
        partitions = consumer.list_topics(topic, timeout=TIMEOUT).topics[topic].partitions
        rows = []
        for number in sorted(partitions):
            low, high = _watermarks(consumer, TopicPartition(topic, number))
            rows.append((number, low, high))
        return rows


def _watermarks(consumer: Any, place: TopicPartition) -> tuple[int, int]:
    """Return first offset and end offset, once the partition has a leader, which may take a moment after the start."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            low, high = consumer.get_watermark_offsets(place, timeout=TIMEOUT)
            return low, high
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET or time.monotonic() > end:
                raise
        time.sleep(0.05)


def _succeeds(future: Any, *expected: int) -> bool:
    """Wait for a result and return False for an expected error; raise any other one."""
    try:
        future.result(TIMEOUT)
    except KafkaException as error:
        if error.args[0].code() not in expected:
            raise
        return False
    return True


def _messages(consumer: Any, wanted: int) -> Iterable[Record]:
    """Yield ``wanted`` records from the assigned partitions."""
    deadline = time.monotonic() + TIMEOUT
    while wanted > 0:
        assert time.monotonic() < deadline, f"{wanted} records did not arrive"
        for message in consumer.consume(min(wanted, 1000), timeout=1.0):
            assert message.error() is None, message.error()
            wanted -= 1
            yield Record(message.key(), message.value(), tuple(message.headers() or ()), message.partition())
