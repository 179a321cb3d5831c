"""A topic of the cluster is made or taken as it is; `test_topic_store` refuses real ones."""

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
    """Answers as a broker would: with errors, one after the other, and then that the topic is there."""

    def __init__(self, *errors: int, policies: set[str] | None = None, partitions: int = 5) -> None:
        self.errors = list(errors)
        self.policies = policies
        self.partitions = partitions
        self.made: list[Any] = []

    def make(self, *wanted: Any) -> Future[None]:
        """Refuse to make a topic, or make it."""
        self.made.append(wanted)
        answer: Future[None] = Future()
        if self.errors:
            answer.set_exception(KafkaException(KafkaError(self.errors.pop(0))))
        else:
            answer.set_result(None)
        return answer

    def cleanup_policies(self, _topic: str) -> set[str] | None:
        """Return what the topic has."""
        return self.policies

    def look(self, _topic: str) -> Future[Any]:
        """Return the topic."""
        answer: Future[Any] = Future()
        answer.set_result(SimpleNamespace(partitions=[SimpleNamespace(replicas=[1])] * self.partitions))
        return answer


def prepare(cluster: Any) -> int:
    """Prepare the topic."""
    return TOPIC.prepare(cluster, timeout=5)


def test_a_missing_topic_is_made_compacted() -> None:
    """With the settings that users have for it."""
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
def test_who_may_not_make_it_takes_the_one_there_is(refusal: int) -> None:
    """With as many partitions as it has."""
    assert prepare(Cluster(refusal, policies={"compact"}, partitions=7)) == 7


def test_who_may_not_see_its_settings_trusts_it(caplog: pytest.LogCaptureFixture) -> None:
    """And says so."""
    caplog.set_level(logging.INFO)
    assert prepare(Cluster(KafkaError.TOPIC_ALREADY_EXISTS, policies=None)) == 5
    assert "this host is not authorized to check whether topic 't' is compacted" in caplog.text


@pytest.mark.parametrize("policies", [{"delete"}, {"compact", "delete"}])
def test_one_that_forgets_is_refused(policies: set[str]) -> None:
    """In Java's words."""
    with pytest.raises(ConfigError) as refusal:
        prepare(Cluster(KafkaError.TOPIC_ALREADY_EXISTS, policies=policies))
    assert f"but found the topic currently has 'cleanup.policy={','.join(sorted(policies))}'" in str(refusal.value)


def test_one_that_has_less_than_the_keys_say_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Fewer partitions, or fewer copies: nobody here changes a topic that was there."""
    wanted = InternalTopic("t", "offset.storage.topic", "source connector offsets", 25, 3)
    cluster: Any = Cluster(KafkaError.TOPIC_ALREADY_EXISTS, policies={"compact"}, partitions=5)
    assert wanted.prepare(cluster) == 5
    for has, key in ((5, "offset.storage.partitions=25"), (1, "offset.storage.replication.factor=3")):
        assert f"topic 't' has {has}, not {key}: the existing topic is used unchanged" in caplog.text


def test_brokers_that_come_later_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that starts has fewer of them than copies at first."""
    monkeypatch.setattr("hearth.storage.internal_topic._PAUSE_SECONDS", 0)
    cluster = Cluster(KafkaError.INVALID_REPLICATION_FACTOR, KafkaError._TIMED_OUT)
    assert prepare(cluster) == 5
    assert len(cluster.made) == 3


def test_what_cannot_be_made_is_told_with_its_key() -> None:
    """And what to do."""
    with pytest.raises(ConnectError, match=r"create/find topic\(s\) 't' \(status.storage.topic\)") as refusal:
        prepare(Cluster(KafkaError.INVALID_CONFIG))
    assert "create the topic yourself, compacted" in str(refusal.value.hint)
