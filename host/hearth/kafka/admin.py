"""Topics as a cluster's administrator sees them: asked about, and made."""

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
"""What a broker answers who may not do what he asks for."""

_unanswered: dict[Future[Any], AdminClient] = {}
"""Clients that wait for an answer: confluent-kafka crashes when one of them is collected."""


class TopicAdmin:
    """Asks the broker about topics and has it make some; -1 leaves a number to the broker.

    Its client ends with it, unless that waits for an answer.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._refusal = _Refusal(config.get(SOURCE))
        own = {"logger": logging.getLogger(CLIENT), "error_cb": self._refusal.note}
        self._client = AdminClient(authorized({**config, **own}))
        weakref.finalize(self, _forget_answered).atexit = False

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

    def cleanup_policies(self, topic: str) -> set[str] | None:
        """Return how a topic is cleaned up, ``compact`` or ``delete`` or both; None where nobody may tell.

        Raises ``KafkaException`` for anything else, also where there is no such topic.
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
        """Return the offset behind the last record of each partition, those of open transactions counted in.

        Raises ``RetriableError`` where the brokers do not say it now, ``ConnectError`` where they never will.
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
            text = f"the ends of {topics} are not known: {error.args[0].str()}"
            if KafkaError(error.args[0].code()).is_passing:
                self._look_again({place.topic for place in asked}, timeout)
                raise RetriableError(text, code="topics.unread", hint="look whether the brokers are there") from error
            raise ConnectError(
                text, code="topics.unread", hint="look whether they may be read and described"
            ) from error

    def _look_again(self, topics: Iterable[str], timeout: float) -> None:
        """Learn who leads partitions by now: librdkafka asks whom it knew, again and again."""
        with suppress(KafkaException):
            for topic in topics:
                self._client.list_topics(topic, timeout)

    def check(self) -> None:
        """Raise ``KafkaException`` when credentials or certificates were refused, which no later answer will tell."""
        self._client.poll(0)
        if self._refusal.error is not None:
            raise self._refusal.error

    def _kept(self, answer: Future[Any]) -> Future[Any]:
        _forget_answered()
        _unanswered[answer] = self._client
        answer.add_done_callback(self._refusal.note_answer)
        return answer


class _Refusal:
    """Why a broker refuses a client for good; it is no part of who asks, or that would not go before the client."""

    def __init__(self, source: str | None) -> None:
        self.error: KafkaException | None = None
        self._source = source
        self._has_worked = False

    def note(self, error: Any) -> None:
        """Take note of an error of the client, where it is one that stays."""
        waits = self._has_worked and desk.has_ended(self._source)
        if is_refusal(error.code(), error.str(), has_worked=self._has_worked) and not waits:
            self.error = KafkaException(error)

    def note_answer(self, answer: Future[Any]) -> None:
        """Take note that brokers have let the client in."""
        if answer.exception() is None:
            self._has_worked = True


def _forget_answered() -> None:
    for answer in list(_unanswered):
        if answer.done():
            _unanswered.pop(answer, None)


def is_there(error: BaseException | None) -> bool:
    """Return what the end of a question about a topic, or of its creation, says; raises what is no answer."""
    if error is None or (isinstance(error, KafkaException) and code_of(error) == "TOPIC_ALREADY_EXISTS"):
        return True
    if isinstance(error, KafkaException) and code_of(error) == "UNKNOWN_TOPIC_OR_PART":
        return False
    raise error


def code_of(error: KafkaException) -> str:
    """Return the name of what librdkafka or the broker says."""
    name: str = error.args[0].name()
    return name
