"""Topics that a task finds or creates: a source's own (KIP-158), a sink's for dead letters."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from hearth.config.topic import TopicGroup
from hearth.kafka.library import is_refusal
from hearth_api import ConnectError

log = logging.getLogger(__name__)

LOOK_SECONDS = 10
CREATE_SECONDS = 60
ANSWER_SECONDS = 0.05
"""How long a task waits for the answer about a topic before it looks after its other duties."""

_AWAY = ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "REQUEST_TIMED_OUT")
_NOT_ALLOWED = ("CLUSTER_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "UNSUPPORTED_VERSION")

_unanswered: list[tuple[AdminClient, Future[Any]]] = []
"""Clients that wait for an answer: confluent-kafka crashes when one of them is collected."""


class TopicAdmin:
    """Asks the broker about topics and has it make some; -1 leaves a number to the broker."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._refusal: KafkaException | None = None
        self._client = AdminClient({**config, "error_cb": self._on_error})

    def look(self, topic: str) -> Future[Any]:
        """Ask about a topic; the future raises ``KafkaException``, also where there is none of this name."""
        return self._kept(self._client.describe_topics(TopicCollection([topic]), request_timeout=LOOK_SECONDS)[topic])

    def make(
        self, topic: str, partitions: int, replication: int, config: Mapping[str, str] | None = None
    ) -> Future[Any]:
        """Have a topic made; the future raises ``KafkaException``, also where there is one of this name."""
        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=replication, config=dict(config or {}))
        return self._kept(self._client.create_topics([wanted], request_timeout=CREATE_SECONDS)[topic])

    def exists(self, topic: str) -> bool:
        """Return whether there is a topic of this name; raises ``KafkaException``."""
        return is_there(self.look(topic).exception())

    def create(self, topic: str, partitions: int, replication: int, config: Mapping[str, str] | None = None) -> None:
        """Create a topic; one that is there is fine as it is. Raises ``KafkaException``."""
        is_there(self.make(topic, partitions, replication, config).exception())

    def check(self) -> None:
        """Raise ``KafkaException`` when credentials or certificates were refused, which no later answer will tell."""
        self._client.poll(0)
        if self._refusal is not None:
            raise self._refusal

    def _on_error(self, error: Any) -> None:
        if is_refusal(error.code(), error.str(), has_worked=False):
            self._refusal = KafkaException(error)

    def _kept(self, answer: Future[Any]) -> Future[Any]:
        _unanswered[:] = [*(each for each in _unanswered if not each[1].done()), (self._client, answer)]
        return answer


def is_there(error: BaseException | None) -> bool:
    """Return what the end of a question about a topic, or of its creation, says; raises what is no answer."""
    if error is None or (isinstance(error, KafkaException) and _code(error) == "TOPIC_ALREADY_EXISTS"):
        return True
    if isinstance(error, KafkaException) and _code(error) == "UNKNOWN_TOPIC_OR_PART":
        return False
    raise error


class TopicCreation:
    """Creates the topics of a source task, each before its first record, as the first group says that takes it.

    A broker that does not answer is asked again, as a record is sent again; whoever asks here never waits for it.
    """

    def __init__(self, groups: Sequence[TopicGroup], admin: TopicAdmin) -> None:
        self._groups, self._admin = groups, admin
        self._known: set[str] = set()
        self._asked: dict[str, Future[Any]] = {}

    def ensure(self, topic: str) -> bool:
        """Return whether a topic is there, and see to it that it will be.

        Raises ``ConnectError`` where it can be neither found nor made.
        """
        if topic in self._known:
            return True
        try:
            if self._is_found(topic):
                self._known.add(topic)
                return True
        except KafkaException as error:
            raise _failure(topic, error) from error
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
            if _code(error) not in _AWAY:
                raise
            log.warning("topic %s is looked for again: %s", topic, error.args[0].str())
        return False

    def _make(self, topic: str) -> Future[Any]:
        group = next(group for group in self._groups if group.takes(topic))
        log.info("creates topic %s as the group %s says", topic, group.name)
        return self._admin.make(topic, group.partitions, group.replication_factor, group.topic_config)


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
