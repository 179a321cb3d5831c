"""Topics that a source looks up or creates, each before its first record (KIP-158)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future, wait
from typing import Any

from confluent_kafka import KafkaException

from hearth.config.topic_key import TopicGroup
from hearth.kafka.admin import TopicAdmin, code_of, is_there
from hearth_api import ConnectError

log = logging.getLogger(__name__)

ANSWER_SECONDS = 0.05
"""Seconds that a task waits for the answer about a topic before it does other work."""

_AWAY = ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "REQUEST_TIMED_OUT")
_NOT_ALLOWED = ("CLUSTER_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION")


class TopicCreation:
    """Creates the topics of a source task, each before its first record, with the first matching group.

    A broker that does not answer is asked again; the caller never waits for it.
    """

    def __init__(self, groups: Sequence[TopicGroup], admin: TopicAdmin) -> None:
        self._groups, self._admin = groups, admin
        self._known: set[str] = set()
        self._asked: dict[str, Future[Any]] = {}
        self._making: dict[str, TopicGroup] = {}

    def has_all(self, spans: Sequence[tuple[str, int, int]]) -> bool:
        """Return whether all topics are known to exist."""
        return self._known.issuperset(topic for topic, _, _ in spans)

    def ensure(self, topic: str) -> bool:
        """Return whether a topic exists; start to create it if not.

        Raises ``ConnectError`` if it can be neither found nor created.
        """
        if topic in self._known:
            return True
        try:
            if self._is_found(topic):
                self._known.add(topic)
                return True
        except KafkaException as error:
            raise self._failure(topic, error) from error
        return False

    def _is_found(self, topic: str) -> bool:
        if topic not in self._asked:
            self._asked[topic] = self._admin.look(topic)
        answer = self._asked[topic]
        if answer not in wait([answer], ANSWER_SECONDS).done:
            self._admin.check()
            return False
        del self._asked[topic]
        try:
            if is_there(answer.exception()):
                return True
            self._asked[topic] = self._make(topic)
        except KafkaException as error:
            if code_of(error) not in _AWAY:
                raise
            log.warning("the lookup of topic %s is retried: %s", topic, error.args[0].str())
        return False

    def _make(self, topic: str) -> Future[Any]:
        group = self._making[topic] = next(group for group in self._groups if group.takes(topic))
        log.info("creating topic %s with the settings of group %s", topic, group.name)
        return self._admin.make(topic, group.partitions, group.replication_factor, group.topic_config)

    def _failure(self, topic: str, error: KafkaException) -> ConnectError:
        """Return Kafka Connect's error, with the reason."""
        why, group = error.args[0].str(), self._making.get(topic)
        if code_of(error) in _NOT_ALLOWED and group is None:
            return ConnectError(f"Not authorized to describe topic(s) '{topic}': {why}")
        if code_of(error) in _NOT_ALLOWED and group is not None:
            text = f"Task failed to create new topic {group.describe(topic)}. Ensure that the task is authorized to"
            return ConnectError(f"{text} create topics or that the topic exists and restart the task: {why}")
        if code_of(error) == "INVALID_CONFIG":
            return ConnectError(f"Unable to create topic(s) '{topic}': {why}")
        return ConnectError(f"Error while attempting to create/find topic(s) '{topic}': {why}")
