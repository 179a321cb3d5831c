"""Topics that a task finds or creates: a source's own (KIP-158), a sink's for dead letters."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from hearth.runtime.config.topic import TopicGroup
from hearth_api import ConnectError

log = logging.getLogger(__name__)

LOOK_SECONDS = 10
CREATE_SECONDS = 60
_AWAY = ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "REQUEST_TIMED_OUT")
_NOT_ALLOWED = ("CLUSTER_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION")


class TopicAdmin:
    """Asks the broker about topics and has it make some; -1 leaves a number to the broker."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._client = AdminClient(dict(config))

    def exists(self, topic: str) -> bool:
        """Return whether there is a topic of this name; raises ``KafkaException``."""
        found = self._client.describe_topics(TopicCollection([topic]), request_timeout=LOOK_SECONDS)[topic]
        try:
            found.result()
        except KafkaException as error:
            if _code(error) == "UNKNOWN_TOPIC_OR_PART":
                return False
            raise
        return True

    def create(self, topic: str, partitions: int, replication: int, config: Mapping[str, str] | None = None) -> None:
        """Create a topic; one that is there is fine as it is. Raises ``KafkaException``."""
        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=replication, config=dict(config or {}))
        try:
            self._client.create_topics([wanted], request_timeout=CREATE_SECONDS)[topic].result()
        except KafkaException as error:
            if _code(error) != "TOPIC_ALREADY_EXISTS":
                raise


class TopicCreation:
    """Creates the topics of a source task, each before its first record, as the first group says that takes it.

    A broker that does not answer is asked again until ``stopping`` is set, as a record is sent again.
    """

    def __init__(self, groups: Sequence[TopicGroup], admin: Mapping[str, Any], stopping: threading.Event) -> None:
        self._groups, self._stopping = groups, stopping
        self._admin = TopicAdmin(admin)
        self._known: set[str] = set()

    def ensure(self, topic: str) -> None:
        """Find or create a topic, once; raises ``ConnectError`` where neither can be done."""
        if topic in self._known:
            return
        try:
            if not self._exists(topic):
                self._create(topic)
        except KafkaException as error:
            raise _failure(topic, error) from error
        self._known.add(topic)

    def _exists(self, topic: str) -> bool:
        while True:
            try:
                return self._admin.exists(topic)
            except KafkaException as error:
                if _code(error) not in _AWAY or self._stopping.is_set():
                    raise
                log.warning("topic %s is looked for again: %s", topic, error.args[0].str())

    def _create(self, topic: str) -> None:
        group = next(group for group in self._groups if group.takes(topic))
        self._admin.create(topic, group.partitions, group.replication_factor, group.topic_config)
        log.info("created topic %s as the group %s says", topic, group.name)


def _failure(topic: str, error: KafkaException) -> ConnectError:
    """Return what Kafka Connect says, and why."""
    why = error.args[0].str()
    if _code(error) in _NOT_ALLOWED:
        text = f"Task failed to create new topic {topic}. Ensure that the task is authorized to create topics or that"
        return ConnectError(f"{text} the topic exists and restart the task: {why}")
    if _code(error) == "INVALID_CONFIG":
        return ConnectError(f"Unable to create topic(s) '{topic}': {why}")
    return ConnectError(f"Error while attempting to create/find topic(s) '{topic}': {why}")


def _code(error: KafkaException) -> str:
    name: str = error.args[0].name()
    return name
