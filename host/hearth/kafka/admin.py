"""Topics as a cluster's administrator sees them: asked about, and made."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from hearth.kafka.kafka_error import is_refusal

LOOK_SECONDS = 10
CREATE_SECONDS = 60

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
    if error is None or (isinstance(error, KafkaException) and code_of(error) == "TOPIC_ALREADY_EXISTS"):
        return True
    if isinstance(error, KafkaException) and code_of(error) == "UNKNOWN_TOPIC_OR_PART":
        return False
    raise error


def code_of(error: KafkaException) -> str:
    """Return the name of what librdkafka or the broker says."""
    name: str = error.args[0].name()
    return name
