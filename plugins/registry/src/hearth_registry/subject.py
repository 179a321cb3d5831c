"""Under which name of a registry the schemas of a topic are kept."""

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
    """Finds the subject of the keys or the values of a topic."""

    needs_schema = False
    """Whether the subject depends on the schema, so that a reader has to know that first."""

    @abstractmethod
    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Return the subject; a SerializationError where there is none."""


class TopicNames(SubjectStrategy):
    """One subject for each topic's keys, and one for its values."""

    def __init__(self, is_key: bool) -> None:
        """Note which of them."""
        self._suffix = "-key" if is_key else "-value"

    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Return the topic and the side."""
        return topic + self._suffix


class RecordNames(SubjectStrategy):
    """One subject for each record, by its full name, whatever topic it is in, or one for each in each topic."""

    needs_schema = True

    def __init__(self, is_key: bool, with_topic: bool = False) -> None:
        """Note what an error would have to say."""
        self._side = "key" if is_key else "value"
        self._with_topic = with_topic

    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Return the name of the record, with the topic before it where that counts."""
        name = None if schema is None else schema.record_name
        if name is None:
            own = STRATEGIES + ("TopicRecordNameStrategy" if self._with_topic else "RecordNameStrategy")
            raise SerializationError(
                f"In configuration {self._side}.subject.name.strategy = {own}, the message {self._side} must only be a"
                " record schema"
            )
        return f"{topic}-{name}" if self._with_topic else name


class NoNames(SubjectStrategy):
    """No subject for topics without association."""

    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Find none."""
        raise SerializationError(f"No associated subject found for topic {topic}")


class AssociatedNames(SubjectStrategy):
    """The subject that the registry says a topic is associated with, or what a fallback says.

    It is asked once for a topic when reading, and once for each schema in it when writing, and remembered.
    """

    def __init__(
        self,
        registry: Registry,
        cluster: str,
        is_key: bool,
        fallback: SubjectStrategy,
        known: Recent[tuple[str, FormatSchema | None], str],
    ) -> None:
        """Ask for keys or values in a cluster; `known` is where the answers are remembered."""
        self.needs_schema = fallback.needs_schema
        self._registry = registry
        self._cluster = cluster
        self._is_key = is_key
        self._fallback = fallback
        self._known = known

    def subject(self, topic: str, schema: FormatSchema | None) -> str:
        """Return what is remembered, or ask."""
        found = self._known.get((topic, schema))
        return self._known.put((topic, schema), self._ask(topic, schema)) if found is None else found

    def _ask(self, topic: str, schema: FormatSchema | None) -> str:
        subjects = self._registry.associated_subjects(self._cluster, topic, self._is_key)
        if len(subjects) > 1:
            raise SerializationError(f"Multiple associated subjects found for topic {topic}")
        if subjects:
            return subjects[0]
        subject = self._fallback.subject(topic, schema)
        log.info("topic %r is associated with no subject, so it has %r", topic, subject)
        return subject


def subject_strategy(
    settings: RegistrySettings, is_key: bool, registry: Registry, clock: Callable[[], float] = time.monotonic
) -> SubjectStrategy:
    """Return the strategy that the keys name."""
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
