"""Subscriptions of a sink, by name and by Java's patterns, on a real broker."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hearth.broker import KafkaBroker
from hearth.config.sink_key import parse_topics
from hearth.herder.planner import HIDDEN_TOPICS, METADATA_AGE
from hearth.kafka.consumer import Consumer
from hearth.runtime.subscription import Subscription
from hearth_api import TopicPartition
from hearth_api.java import PatternError
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT
from tests.unit.runtime.sample import sink_plan

Subscribe = Callable[..., "Reader"]
_numbers = itertools.count()


class Reader:
    """A consumer with a subscription, which notes what it is assigned."""

    def __init__(self, servers: str, config: dict[str, str], age_ms: str, makes_topics: str) -> None:
        self.topics: set[str] = set()
        settings = {"bootstrap.servers": servers, "group.id": f"sub-{next(_numbers)}", METADATA_AGE: age_ms}
        settings["allow.auto.create.topics"] = makes_topics
        settings[HIDDEN_TOPICS] = hidden = "^__consumer_offsets$"
        self.subscription = Subscription(
            sink_plan(
                topics=tuple(parse_topics(config)),
                topics_regex=config.get("topics.regex"),
                hidden_topics=(hidden,),
                metadata_age=int(age_ms) / 1000,
            )
        )
        self.consumer = Consumer(settings)
        self.consumer.listen(self)

    def reads(self, topics: set[str]) -> bool:
        """Poll until exactly these topics are assigned."""
        deadline = time.monotonic() + TIMEOUT
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

    def new(key: str, value: str, age_ms: str = "500", makes_topics: str = "false") -> Reader:
        opened.append(Reader(broker.bootstrap_servers, {key: value}, age_ms, makes_topics))
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


def test_a_named_topic_may_come_late(subscribe: Subscribe, topics: Topics, name: str) -> None:
    """It is read soon after it is made, as by Java's consumer, and not when metadata has grown old."""
    topics.create(f"{name}-there")
    reader = subscribe("topics", f"{name}-there,{name}-late", "300000")
    assert reader.reads({f"{name}-there"})
    topics.create(f"{name}-late")
    assert reader.reads({f"{name}-there", f"{name}-late"})


def test_a_named_topic_is_made_where_that_is_allowed(subscribe: Subscribe, topics: Topics, name: str) -> None:
    """By the broker, as where Java's consumer asks for it; one that is deleted later stays so."""
    topics.create(f"{name}-there")
    maker, other = (subscribe("topics", f"{name}-there,{name}-{each}", "300000", each) for each in ("true", "false"))
    assert maker.reads({f"{name}-there", f"{name}-true"})
    assert other.reads({f"{name}-there"})
    other.subscription._next_look = 0.0
    other.subscription.renew(other.consumer)
    assert f"{name}-false" not in topics.names()
    assert maker.subscription.next_look == math.inf


def test_patterns_are_javas_and_match_whole_names(subscribe: Subscribe, topics: Topics, name: str) -> None:
    """Digit classes, look-ahead and reluctant quantifiers are nothing librdkafka would know."""
    for rest in ("1", "12", "1x", "x1", "13"):
        topics.create(f"{name}-{rest}")
    assert subscribe("topics.regex", rf"{name}-(?!13)\d+?").reads({f"{name}-1", f"{name}-12"})


def test_topics_that_come_and_go_are_noticed(subscribe: Subscribe, topics: Topics, name: str) -> None:
    """There need not be any at first; the age of metadata says how soon a topic is found."""
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


class Group:
    """Replaces a consumer: records its subscriptions."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.subscribed: list[list[str]] = []

    def topic_names(self, wait_ms: int) -> list[str]:
        """Return the topics there are."""
        return self.names

    def subscribe(self, topics: list[str]) -> None:
        """Note it."""
        self.subscribed.append(topics)


def test_named_topics_are_subscribed_to_once() -> None:
    """Whether they exist or not."""
    group: Any = Group()
    subscription = Subscription(sink_plan(topics=("a", "b")))
    assert subscription.renew(group)
    assert not subscription.renew(group)
    assert group.subscribed == [["a", "b"]]


def test_a_consumer_joins_only_with_a_topic() -> None:
    """A pattern that matches nothing yet is no reason to; one that matches nothing any more ends nothing."""
    group: Any = Group()
    subscription = Subscription(sink_plan(topics=(), topics_regex="a.*", metadata_age=0.0))
    assert not subscription.renew(group)
    group.names = ["a1", "b"]
    assert subscription.renew(group)
    group.names = []
    assert subscription.renew(group)
    group.names = ["a2"]
    assert subscription.renew(group)
    assert [group.subscribed[0], group.subscribed[2]] == [["a1"], ["a2"]]


def test_an_invalid_pattern_is_reported(subscribe: Subscribe) -> None:
    """With Java's message."""
    with pytest.raises(PatternError, match="Unclosed group near index 2"):
        subscribe("topics.regex", "a(")
