"""Topics of source tasks, found or created on a real broker."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from hearth.broker import KafkaBroker
from hearth.config.topic_key import topic_groups
from hearth.kafka.admin import TopicAdmin
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
        # silent, as the last client lives on when its broker has gone
        servers = {"bootstrap.servers": broker.bootstrap_servers, "log_level": "0"}
        return TopicCreation(topic_groups(props), TopicAdmin(servers))

    return new


def ensure(creation: TopicCreation, topic: str) -> None:
    """Request a topic until it exists."""
    deadline = time.monotonic() + 30
    while not creation.ensure(topic):
        assert time.monotonic() < deadline, f"{topic} is not there"


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
    ensure(creation, topic)
    assert creation.ensure(topic)
    assert (partitions(broker, topic), setting(broker, topic, "cleanup.policy")) == (3, "compact")


def test_topic_that_is_there_stays_as_it_is(creating: Open, broker: KafkaBroker, topic: str) -> None:
    """Nothing is added to it."""
    Topics(broker.bootstrap_servers).create(topic, 2)
    ensure(creating(default_partitions="7"), topic)
    assert partitions(broker, topic) == 2


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"default_replication_factor": "3"}, r"Error while attempting to create/find topic\(s\) '{topic}': .*factor"),
        ({"default_retention_ms": "long"}, r"Unable to create topic\(s\) '{topic}': .*long"),
    ],
)
def test_a_topic_that_cannot_be_created_is_reported_with_the_reason(
    creating: Open, topic: str, keys: dict[str, str], says: str
) -> None:
    """The message is Kafka Connect's, with the broker's reason."""
    with pytest.raises(ConnectError, match=says.format(topic=topic)):
        ensure(creating(**keys), topic)


class Admin(TopicAdmin):
    """Answers what the test says, when it says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Future[Any]]] = []
        self.refusal: KafkaException | None = None

    def look(self, topic: str) -> Future[Any]:
        """Take a question."""
        self.asked.append(("look", Future()))
        return self.asked[-1][1]

    def make(self, topic: str, partitions: int, replication: int, config: Any = None) -> Future[Any]:
        """Take a request."""
        self.asked.append(("make", Future()))
        return self.asked[-1][1]

    def check(self) -> None:
        """Raise what the test says."""
        if self.refusal is not None:
            raise self.refusal


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    """Provide an admin client that needs no broker and no time."""
    monkeypatch.setattr("hearth.runtime.topic.ANSWER_SECONDS", 0)
    return Admin()


def waiting(admin: Admin) -> TopicCreation:
    """Return a creation that asks this client."""
    keys = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    return TopicCreation(topic_groups(keys), admin)


def test_the_task_does_not_wait_for_an_unavailable_broker(admin: Admin, caplog: pytest.LogCaptureFixture) -> None:
    """It continues with its other duties, and asks the broker again later."""
    creation = waiting(admin)
    assert not creation.ensure("t")
    admin.asked[0][1].set_exception(KafkaException(KafkaError(KafkaError._TRANSPORT, "away")))
    assert [creation.ensure("t"), creation.ensure("t")] == [False, False]
    assert "the lookup of topic t is retried: away" in caplog.text
    admin.asked[1][1].set_result(None)
    assert creation.ensure("t")
    assert [kind for kind, _ in admin.asked] == ["look", "look"]


def test_a_topic_that_another_task_creates_is_used(admin: Admin) -> None:
    """Two tasks may find at once that it is missing; a creation without an answer is checked."""
    creation = waiting(admin)
    creation.ensure("t")
    admin.asked[0][1].set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
    creation.ensure("t")
    admin.asked[1][1].set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
    assert not creation.ensure("t")
    assert not creation.ensure("t")
    admin.asked[2][1].set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
    creation.ensure("t")
    admin.asked[3][1].set_exception(KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)))
    assert creation.ensure("t")
    assert [kind for kind, _ in admin.asked] == ["look", "make", "look", "make"]


def test_refused_credentials_end_the_search(admin: Admin) -> None:
    """No answer will ever say so."""
    creation = waiting(admin)
    admin.refusal = KafkaException(KafkaError(KafkaError._AUTHENTICATION, "wrong password"))
    with pytest.raises(ConnectError, match=r"create/find topic.*wrong password"):
        creation.ensure("t")


@pytest.mark.parametrize(
    ("is_missing", "says"),
    [
        (False, "Not authorized to describe topic(s) 't': no"),
        (
            True,
            "Task failed to create new topic (name=t, numPartitions=1, replicationFactor=1, replicasAssignments=null, "
            "configs={}). Ensure that the task is authorized to create topics or that the topic exists and restart "
            "the task: no",
        ),
    ],
)
def test_a_task_that_may_not_describe_or_create_a_topic_reports_which(
    admin: Admin, is_missing: bool, says: str
) -> None:
    """The message is Kafka Connect's, with the broker's reason."""
    creation = waiting(admin)
    creation.ensure("t")
    if is_missing:
        admin.asked[0][1].set_exception(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))
        creation.ensure("t")
    admin.asked[-1][1].set_exception(KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "no")))
    with pytest.raises(ConnectError) as caught:
        creation.ensure("t")
    assert str(caught.value) == says
