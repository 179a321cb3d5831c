"""Topics of a real broker, and a second client to look at them with."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import confluent_kafka
import pytest

from hearth.broker import KafkaBroker
from hearth.kafka.consumer import Consumer
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT
from tests.unit.kafka.member import Join, Member

_numbers = itertools.count()
_groups = itertools.count()


@dataclass(frozen=True)
class Message:
    """A message as confluent-kafka reads it, apart from the code under test."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    timestamp: tuple[int, int]


@pytest.fixture(scope="session")
def topics(broker: KafkaBroker) -> Topics:
    """Provide the topics of the session's broker."""
    return Topics(broker.bootstrap_servers)


@pytest.fixture
def new_topic(topics: Topics) -> Callable[..., str]:
    """Make topics with names of their own; other arguments are settings of the topic."""

    def make(partitions: int = 1, **settings: str) -> str:
        name = f"columns-{next(_numbers)}"
        topics.create(name, partitions, settings)
        return name

    return make


@pytest.fixture
def join(broker: KafkaBroker) -> Iterator[Join]:
    """Let members join groups; they leave after the test."""
    members: list[Member] = []

    def new(*topics: str, group: str, raises: str | None = None, **config: str) -> Member:
        member = Member(raises=raises)
        settings = {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": "20",
            "heartbeat.interval.ms": "100",  # members hear of a rebalance with a heartbeat
            **{key.replace("_", "."): value for key, value in config.items()},
        }
        member.consumer = Consumer(settings)
        member.consumer.listen(member)
        member.consumer.subscribe(topics)
        members.append(member)
        return member

    yield new
    for member in members:
        member.raises = None
        member.consumer.close()


@pytest.fixture
def group() -> str:
    """Name a group of its own."""
    return f"group-{next(_groups)}"


@pytest.fixture
def read(broker: KafkaBroker) -> Iterator[Callable[[str, int, int], list[Message]]]:
    """Read a number of messages from a topic, each partition from its beginning."""
    consumer: Any = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader", "enable.auto.commit": False}
    )

    def read(topic: str, count: int, partitions: int = 1) -> list[Message]:
        consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in range(partitions)])
        found: list[Message] = []
        deadline = time.monotonic() + TIMEOUT
        while len(found) < count:
            assert time.monotonic() < deadline, f"only {len(found)} of {count} messages came"
            found += map(_message, consumer.consume(count - len(found), timeout=0.5))
        return sorted(found, key=lambda each: (each.partition, each.offset))

    yield read
    consumer.close()


def _message(message: Any) -> Message:
    assert message.error() is None, message.error()
    return Message(
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.headers() or [],
        message.timestamp(),
    )
