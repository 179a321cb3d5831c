"""What a sink reads, by name and by Java's patterns, on a real broker."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import pytest

from hearth.broker import KafkaBroker
from hearth.runtime.kafka.consumer import Consumer
from hearth.runtime.subscription import HIDDEN_TOPICS, METADATA_AGE, Subscription
from hearth_api import PatternError, TopicPartition
from tests.peer.topic import Topics

WAIT = 30
Subscribe = Callable[[str, str], "Reader"]
_numbers = itertools.count()


class Reader:
    """A consumer with a subscription, which notes what it is assigned."""

    def __init__(self, servers: str, config: dict[str, str], age_ms: str) -> None:
        self.topics: set[str] = set()
        settings = {"bootstrap.servers": servers, "group.id": f"sub-{next(_numbers)}", METADATA_AGE: age_ms}
        settings[HIDDEN_TOPICS] = "^__consumer_offsets$"
        self.subscription = Subscription(config, settings)
        self.consumer = Consumer(settings)
        self.consumer.listen(self)
        self.subscription.begin(self.consumer)

    def reads(self, topics: set[str]) -> bool:
        """Poll until exactly these topics are assigned."""
        deadline = time.monotonic() + WAIT
        while self.topics != topics and time.monotonic() < deadline:
            self.subscription.renew(self.consumer)
            self.consumer.poll(50)
        return self.topics == topics

    def on_assign(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Note what comes."""
        self.topics |= {partition.topic for partition in partitions}
        return {}

    def on_assigned(self) -> None:
        """Need nothing."""

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Note what goes."""
        self.topics -= {partition.topic for partition in partitions}


@pytest.fixture
def topics(broker: KafkaBroker) -> Topics:
    """Provide the topics of the session's broker."""
    return Topics(broker.bootstrap_servers)


@pytest.fixture
def subscribe(broker: KafkaBroker) -> Iterator[Subscribe]:
    """Open readers that are closed after the test."""
    opened: list[Reader] = []

    def new(key: str, value: str, age_ms: str = "500") -> Reader:
        opened.append(Reader(broker.bootstrap_servers, {key: value}, age_ms))
        return opened[-1]

    yield new
    for reader in opened:
        reader.consumer.close()


@pytest.fixture
def name() -> str:
    """Name a family of topics."""
    return f"sub{next(_numbers)}"


def test_listed_topics_are_read(subscribe: Subscribe, topics: Topics, name: str) -> None:
    """Blanks around the names do not belong to them."""
    for number in range(3):
        topics.create(f"{name}-{number}")
    assert subscribe("topics", f" {name}-0 , {name}-2,").reads({f"{name}-0", f"{name}-2"})


def test_patterns_are_javas_and_match_whole_names(subscribe: Subscribe, topics: Topics, name: str) -> None:
    """Digit classes, look-ahead and reluctant quantifiers are nothing librdkafka would know."""
    for rest in ("1", "12", "1x", "x1", "13"):
        topics.create(f"{name}-{rest}")
    assert subscribe("topics.regex", rf"{name}-(?!13)\d+?").reads({f"{name}-1", f"{name}-12"})


def test_topics_that_come_and_go_are_noticed(subscribe: Subscribe, topics: Topics, name: str) -> None:
    """The group is joined before there is any; the age of metadata says how soon a topic is found."""
    reader = subscribe("topics.regex", rf"{name}\.\w+")
    assert reader.reads(set())
    topics.create(f"{name}.a")
    assert reader.reads({f"{name}.a"})
    topics.create(f"{name}.b")
    assert reader.reads({f"{name}.a", f"{name}.b"})
    topics.delete([f"{name}.a"])
    assert reader.reads({f"{name}.b"})


def test_kafkas_own_topics_are_left_out(subscribe: Subscribe, topics: Topics, name: str) -> None:
    """As ``exclude.internal.topics`` says, which comes as a list of topics not to see."""
    topics.create(f"{name}-own")
    assert subscribe("topics.regex", rf"__consumer_offsets|{name}-own").reads({f"{name}-own"})


def test_a_pattern_that_is_none_is_told(subscribe: Subscribe) -> None:
    """With Java's message."""
    with pytest.raises(PatternError, match="Unclosed group near index 2"):
        subscribe("topics.regex", "a(")
