"""Subject name strategies: the registry name of a topic's schemas."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from hearth_registry.failure_wording import SerializationError
from hearth_registry.recent import Recent
from hearth_registry.registry import Registry
from hearth_registry.registry_setting import STRATEGIES, RegistrySettings
from hearth_registry.schema_format import FormatSchema

log = logging.getLogger(__name__)


class SubjectStrategy(ABC):
    """Determines the subject of a topic's keys or values."""

    needs_schema = False
    """Whether the subject depends on the schema, so that a reader needs the schema first."""

    @abstractmethod
    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Return the subject; raise SerializationError if there is none."""


class TopicNames(SubjectStrategy):
    """One subject for a topic's keys and one for its values."""

    def __init__(self, is_key: bool) -> None:
        """Set the side."""
        self._suffix = "-key" if is_key else "-value"

    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Return the topic with the side as suffix."""
        return topic + self._suffix


class RecordNames(SubjectStrategy):
    """One subject for each full record name, or one for each topic and full record name."""

    needs_schema = True

    def __init__(self, is_key: bool, with_topic: bool = False) -> None:
        """Set the side and class name for errors."""
        self._side = "key" if is_key else "value"
        self._with_topic = with_topic

    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Return the name of the record, prefixed with the topic if required."""
        name = None if schema is None else schema.record_name
        if name is None:
            own = STRATEGIES + ("TopicRecordNameStrategy" if self._with_topic else "RecordNameStrategy")
            raise SerializationError(
                f"In configuration {self._side}.subject.name.strategy = {own}, the message {self._side} must only be a"
                " record schema"
            )
        return f"{topic}-{name}" if self._with_topic else name


class NoNames(SubjectStrategy):
    """No subject for a topic without an association."""

    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Raise SerializationError."""
        raise SerializationError(f"No associated subject found for topic {topic}")


class AssociatedNames(SubjectStrategy):
    """The associated subject of a topic in the registry, or the subject of a fallback strategy.

    The result is cached: once for each topic when reading, once for each topic and schema when writing.
    """

    def __init__(
        self,
        registry: Registry,
        cluster: str,
        is_key: bool,
        fallback: SubjectStrategy,
        known: Recent[tuple[str, FormatSchema | None], str],
    ) -> None:
        """Set the side and cluster; `known` is the cache."""
        self.needs_schema = fallback.needs_schema
        self._registry = registry
        self._cluster = cluster
        self._is_key = is_key
        self._fallback = fallback
        self._known = known

    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Return the cached subject, or request it."""
        found = self._known.get((topic, schema))
        return self._known.put((topic, schema), self._ask(topic, schema)) if found is None else found

    def _ask(self, topic: str, schema: FormatSchema | None) -> str:
        subjects = self._registry.associated_subjects(self._cluster, topic, self._is_key)
        if len(subjects) > 1:
            raise SerializationError(f"Multiple associated subjects found for topic {topic}")
        if subjects:
            return subjects[0]
        subject = self._fallback.subject(topic, schema)
        log.info("topic %r has no associated subject, using %r", topic, subject)
        return subject


def subject_strategy(
    settings: RegistrySettings, is_key: bool, registry: Registry, clock: Callable[[], float] = time.monotonic
) -> SubjectStrategy:
    """Return the configured strategy."""
    chosen = (settings.key_strategy if is_key else settings.value_strategy).removeprefix(STRATEGIES)
    if chosen != "AssociatedNameStrategy":
        return _plain(chosen.removesuffix("NameStrategy"), is_key)
    words = {"TOPIC": "Topic", "RECORD": "Record", "TOPIC_RECORD": "TopicRecord", "NONE": "No"}
    fallback = _plain(words[settings.association_fallback], is_key)
    known: Recent[tuple[str, FormatSchema | None], str] = Recent(
        settings.association_cache_size, settings.association_cache_ttl, clock
    )
    return AssociatedNames(registry, settings.association_cluster, is_key, fallback, known)


def _plain(word: str, is_key: bool) -> SubjectStrategy:
    if word == "Topic":
        return TopicNames(is_key)
    return NoNames() if word == "No" else RecordNames(is_key, with_topic=word == "TopicRecord")
