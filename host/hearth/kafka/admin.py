"""Topic administration: look up and create topics, read their settings and end offsets."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.kafka_error import KafkaError, is_refusal
from hearth.kafka.token import authorized, desk
from hearth.kafka.token_source import SOURCE
from hearth_api import ConnectError, RetriableError

LOOK_SECONDS = 10
CREATE_SECONDS = 60
FORBIDDEN = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
"""Errors for missing permissions."""

_unanswered: dict[Future[Any], AdminClient] = {}
"""Clients with unanswered requests: confluent-kafka crashes when such a client is collected."""


class TopicAdmin:
    """Looks up and creates topics; -1 leaves a number to the broker.

    Its client is freed with it, unless a request is unanswered.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._refusal = _Refusal(config.get(SOURCE))
        own = {"logger": logging.getLogger(CLIENT), "error_cb": self._refusal.note}
        self._client = AdminClient(authorized({**config, **own}))
        weakref.finalize(self, _forget_answered).atexit = False

    def look(self, topic: str) -> Future[Any]:
        """Look up a topic; the future raises ``KafkaException``, also if the topic does not exist."""
        return self._kept(self._client.describe_topics(TopicCollection([topic]), request_timeout=LOOK_SECONDS)[topic])

    def make(
        self, topic: str, partitions: int, replication: int, config: Mapping[str, str] | None = None
    ) -> Future[Any]:
        """Create a topic; the future raises ``KafkaException``, also if the topic exists."""
        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=replication, config=dict(config or {}))
        return self._kept(self._client.create_topics([wanted], request_timeout=CREATE_SECONDS)[topic])

    def exists(self, topic: str) -> bool:
        """Return whether a topic exists; raises ``KafkaException``."""
        return is_there(self.look(topic).exception())

    def create(self, topic: str, partitions: int, replication: int, config: Mapping[str, str] | None = None) -> None:
        """Create a topic unless it exists. Raises ``KafkaException``."""
        is_there(self.make(topic, partitions, replication, config).exception())

    def count_brokers(self) -> int:
        """Return how many brokers the cluster has now; raises ``KafkaException``."""
        answer = self._kept(self._client.describe_cluster(request_timeout=LOOK_SECONDS))
        return len(answer.result(LOOK_SECONDS + 1).nodes)

    def cleanup_policies(self, topic: str) -> set[str] | None:
        """Return a topic's cleanup policies, ``compact`` or ``delete`` or both; None without permission.

        Raises ``KafkaException`` for anything else, also if the topic does not exist.
        """
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        answer = self._kept(self._client.describe_configs([resource], request_timeout=LOOK_SECONDS)[resource])
        try:
            entry = answer.result(LOOK_SECONDS + 1).get("cleanup.policy")
        except KafkaException as error:
            if code_of(error) in FORBIDDEN:
                return None
            raise
        return None if entry is None else {part.strip().lower() for part in entry.value.split(",") if part.strip()}

    def end_offsets(self, places: Iterable[tuple[str, int]], timeout: float) -> dict[tuple[str, int], int]:
        """Return the end offset of each partition, including open transactions.

        Raises ``RetriableError`` if the brokers do not answer now, ``ConnectError`` if they never will.
        """
        asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}
        if not asked:
            return {}
        uncommitted = IsolationLevel.READ_UNCOMMITTED
        try:
            answers = self._client.list_offsets(asked, isolation_level=uncommitted, request_timeout=timeout)
            kept = {(place.topic, place.partition): self._kept(answer) for place, answer in answers.items()}
            return {place: answer.result(timeout + 1).offset for place, answer in kept.items()}
        except KafkaException as error:
            topics = ", ".join(sorted({place.topic for place in asked}))
            text = f"the end offsets of {topics} are unknown: {error.args[0].str()}"
            if KafkaError(error.args[0].code()).is_passing:
                self._look_again({place.topic for place in asked}, timeout)
                raise RetriableError(text, code="topics.unread", hint="check that the brokers are up") from error
            raise ConnectError(
                text, code="topics.unread", hint="check the permissions READ and DESCRIBE on them"
            ) from error

    def _look_again(self, topics: Iterable[str], timeout: float) -> None:
        """Refresh the partition leaders: librdkafka keeps asking those it knew."""
        with suppress(KafkaException):
            for topic in topics:
                self._client.list_topics(topic, timeout)

    def check(self) -> None:
        """Raise ``KafkaException`` if credentials or certificates were refused, which no later answer reports."""
        self._client.poll(0)
        if self._refusal.error is not None:
            raise self._refusal.error

    def _kept(self, answer: Future[Any]) -> Future[Any]:
        _forget_answered()
        _unanswered[answer] = self._client
        answer.add_done_callback(self._refusal.note_answer)
        return answer


class _Refusal:
    """Why brokers permanently refuse a client; separate from ``TopicAdmin``, so that it is not kept alive."""

    def __init__(self, source: str | None) -> None:
        self.error: KafkaException | None = None
        self._source = source
        self._has_worked = False

    def note(self, error: Any) -> None:
        """Store an error of the client, if it is permanent."""
        waits = self._has_worked and desk.has_ended(self._source)
        if is_refusal(error.code(), error.str(), has_worked=self._has_worked) and not waits:
            self.error = KafkaException(error)

    def note_answer(self, answer: Future[Any]) -> None:
        """Note that brokers accepted the client."""
        if answer.exception() is None:
            self._has_worked = True


def _forget_answered() -> None:
    for answer in list(_unanswered):
        if answer.done():
            _unanswered.pop(answer, None)


def is_there(error: BaseException | None) -> bool:
    """Return whether a topic exists, from the error of a lookup or creation; raise any other error."""
    if error is None or (isinstance(error, KafkaException) and code_of(error) == "TOPIC_ALREADY_EXISTS"):
        return True
    if isinstance(error, KafkaException) and code_of(error) == "UNKNOWN_TOPIC_OR_PART":
        return False
    raise error


def code_of(error: KafkaException) -> str:
    """Return librdkafka's name of an error."""
    name: str = error.args[0].name()
    return name
