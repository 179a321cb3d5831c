"""An internal topic is created, or used if it exists; `test_topic_store` tests real ones."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from hearth.storage.internal_topic import InternalTopic
from hearth_api import ConfigError, ConnectError

TOPIC = InternalTopic("t", "status.storage.topic", "connector and task statuses", 5, 1, {"a": "1"})


class Cluster:
    """A broker that returns scripted errors and then the topic."""

    def __init__(self, *errors: int, policies: set[str] | None = None, partitions: int = 5) -> None:
        self.errors = list(errors)
        self.policies = policies
        self.partitions = partitions
        self.made: list[Any] = []

    def make(self, *wanted: Any) -> Future[None]:
        """Raise the next error, or create the topic."""
        self.made.append(wanted)
        answer: Future[None] = Future()
        if self.errors:
            answer.set_exception(KafkaException(KafkaError(self.errors.pop(0))))
        else:
            answer.set_result(None)
        return answer

    def cleanup_policies(self, _topic: str) -> set[str] | None:
        """Return the topic's cleanup policies."""
        return self.policies

    def look(self, _topic: str) -> Future[Any]:
        """Return the topic."""
        answer: Future[Any] = Future()
        answer.set_result(SimpleNamespace(partitions=[SimpleNamespace(replicas=[1])] * self.partitions))
        return answer


def prepare(cluster: Any) -> int:
    """Prepare the topic."""
    return TOPIC.prepare(cluster, timeout=5)


def test_a_missing_topic_is_created_compacted() -> None:
    """With the user's settings."""
    cluster = Cluster()
    assert prepare(cluster) == 5
    assert cluster.made == [("t", 5, 1, {"a": "1", "cleanup.policy": "compact"})]


@pytest.mark.parametrize(
    "refusal",
    [
        KafkaError.TOPIC_ALREADY_EXISTS,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    ],
)
def test_a_host_that_may_not_create_topics_uses_the_existing_one(refusal: int) -> None:
    """With its number of partitions."""
    assert prepare(Cluster(refusal, policies={"compact"}, partitions=7)) == 7


def test_a_topic_with_unreadable_settings_is_accepted(caplog: pytest.LogCaptureFixture) -> None:
    """With a warning."""
    caplog.set_level(logging.INFO)
    assert prepare(Cluster(KafkaError.TOPIC_ALREADY_EXISTS, policies=None)) == 5
    assert "this host is not authorized to check whether topic 't' is compacted" in caplog.text


@pytest.mark.parametrize("policies", [{"delete"}, {"compact", "delete"}])
def test_a_topic_that_is_not_compacted_is_rejected(policies: set[str]) -> None:
    """With Java's message."""
    with pytest.raises(ConfigError) as refusal:
        prepare(Cluster(KafkaError.TOPIC_ALREADY_EXISTS, policies=policies))
    assert f"but found the topic currently has 'cleanup.policy={','.join(sorted(policies))}'" in str(refusal.value)


def test_a_topic_smaller_than_configured_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Fewer partitions or replicas: an existing topic is not changed."""
    wanted = InternalTopic("t", "offset.storage.topic", "source connector offsets", 25, 3)
    cluster: Any = Cluster(KafkaError.TOPIC_ALREADY_EXISTS, policies={"compact"}, partitions=5)
    assert wanted.prepare(cluster) == 5
    for has, key in ((5, "offset.storage.partitions=25"), (1, "offset.storage.replication.factor=3")):
        assert f"topic 't' has {has}, not {key}: the existing topic is used unchanged" in caplog.text


def test_creation_waits_for_enough_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A starting cluster may have fewer brokers than replicas at first."""
    monkeypatch.setattr("hearth.storage.internal_topic._PAUSE_SECONDS", 0)
    cluster = Cluster(KafkaError.INVALID_REPLICATION_FACTOR, KafkaError._TIMED_OUT)
    assert prepare(cluster) == 5
    assert len(cluster.made) == 3


def test_a_failed_creation_names_the_key() -> None:
    """With a remedy."""
    with pytest.raises(ConnectError, match=r"create/find topic\(s\) 't' \(status.storage.topic\)") as refusal:
        prepare(Cluster(KafkaError.INVALID_CONFIG))
    assert "create the topic yourself, compacted" in str(refusal.value.hint)
