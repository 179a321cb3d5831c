"""Topics of source tasks, found or made on a real broker."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from hearth.broker import KafkaBroker
from hearth.broker.port import random_free
from hearth.runtime.config.topic import topic_groups
from hearth.runtime.topic import TopicCreation
from hearth_api import ConnectError
from tests.peer.topic import Topics

Open = Callable[..., TopicCreation]
_numbers = itertools.count()


@pytest.fixture
def topic() -> str:
    """Name a topic of its own."""
    return f"creation-{next(_numbers)}"


@pytest.fixture
def creating(broker: KafkaBroker) -> Open:
    """Provide creations for the keys below ``topic.creation.``, dots written as underscores."""

    def new(**keys: str) -> TopicCreation:
        default = {"default_partitions": "1", "default_replication_factor": "1"}
        props = {f"topic.creation.{key.replace('_', '.')}": value for key, value in {**default, **keys}.items()}
        return TopicCreation(
            topic_groups(props), {"bootstrap.servers": broker.bootstrap_servers}, stopping=threading.Event()
        )

    return new


def partitions(broker: KafkaBroker, topic: str) -> int:
    """Return how many partitions a topic has."""
    client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    return len(client.list_topics(topic, timeout=30).topics[topic].partitions)


def setting(broker: KafkaBroker, topic: str, name: str) -> Any:
    """Return a setting of a topic."""
    client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    return client.describe_configs([resource])[resource].result(30)[name].value


def test_first_group_that_takes_a_topic_makes_it(creating: Open, broker: KafkaBroker, topic: str) -> None:
    """Groups are asked in their order, the default one last; other keys of a group become settings of the topic."""
    creation = creating(
        groups="no,yes,late", no_include="creation-.*", no_exclude=topic, no_partitions="9",
        yes_include=r"creation-\d+", yes_partitions="3", yes_cleanup_policy="compact",
        late_include=".*", late_partitions="8",
    )  # fmt: skip
    creation.ensure(topic)
    creation.ensure(topic)
    assert (partitions(broker, topic), setting(broker, topic, "cleanup.policy")) == (3, "compact")


def test_topic_that_is_there_stays_as_it_is(creating: Open, broker: KafkaBroker, topic: str) -> None:
    """Nothing is added to it."""
    Topics(broker.bootstrap_servers).create(topic, 2)
    creating(default_partitions="7").ensure(topic)
    assert partitions(broker, topic) == 2


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"default_replication_factor": "3"}, r"Error while attempting to create/find topic\(s\) '{topic}': .*factor"),
        ({"default_retention_ms": "long"}, r"Unable to create topic\(s\) '{topic}': .*long"),
    ],
)
def test_topic_that_cannot_be_made_is_told_with_the_reason(
    creating: Open, topic: str, keys: dict[str, str], says: str
) -> None:
    """The words are Kafka Connect's, with what the broker said."""
    with pytest.raises(ConnectError, match=says.format(topic=topic)):
        creating(**keys).ensure(topic)


def test_broker_that_is_away_is_asked_again_until_the_task_is_stopped(
    topic: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A record that cannot be sent now is kept, and so is one whose topic cannot be looked for."""
    monkeypatch.setattr("hearth.runtime.topic.LOOK_SECONDS", 0.5)
    stopping = threading.Event()
    groups = topic_groups({"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"})
    creation = TopicCreation(groups, {"bootstrap.servers": f"127.0.0.1:{random_free()}", "log_level": "0"}, stopping)
    threading.Timer(1.2, stopping.set).start()
    with pytest.raises(ConnectError, match="create/find topic"):
        creation.ensure(topic)
    assert sum("looked for again" in record.getMessage() for record in caplog.records) >= 2
