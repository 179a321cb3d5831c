"""A cache of a registry's responses, like Confluent's CachedSchemaRegistryClient of 8.3.

Refusals are cached only if the keys `missing.*.cache.ttl.sec` are set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from hearth_registry.recent import Recent
from hearth_registry.registry import (
    LATEST,
    SCHEMA_NOT_FOUND,
    SUBJECT_NOT_FOUND,
    VERSION_NOT_FOUND,
    RegisteredSchema,
    Registry,
    RegistryRefusal,
)
from hearth_registry.registry_setting import RegistrySettings
from hearth_registry.schema_text import SchemaText

_MISSING = (SUBJECT_NOT_FOUND, VERSION_NOT_FOUND, SCHEMA_NOT_FOUND)
_LATEST_TTL = 60
MOST_SUBJECTS = 1000
"""Maximum cached subjects; the least recently used one is evicted, since the number of topics is unbounded."""

T = TypeVar("T")


@dataclass(frozen=True)
class Memory:
    """Sizes and lifetimes of the caches in seconds (negative: unlimited)."""

    schemas: int = 1000
    latest: int = 1000
    latest_ttl: float = _LATEST_TTL
    missing: int = 10000
    missing_id_ttl: float = 0
    missing_version_ttl: float = 0
    missing_schema_ttl: float = 0

    @classmethod
    def of(cls, settings: RegistrySettings) -> Memory:
        """Read the keys; the latest version has a shorter lifetime here than in the converter."""
        ttl = settings.latest_cache_ttl if settings.is_set("latest.cache.ttl.sec") else _LATEST_TTL
        return cls(
            settings.max_schemas, settings.latest_cache_size, ttl, settings.missing_cache_size,
            settings.missing_id_ttl, settings.missing_version_ttl, settings.missing_schema_ttl,
        )  # fmt: skip


class CachedRegistry(Registry):
    """Caches the responses of another registry."""

    def __init__(
        self, registry: Registry, memory: Memory | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start with an empty cache."""
        memory = memory or Memory()
        self._registry = registry
        self._size, self._clock = memory.schemas, clock
        self._by_subject: Recent[str, dict[str, Recent[Hashable, RegisteredSchema]]] = Recent(MOST_SUBJECTS)
        self._latest: Recent[Hashable, RegisteredSchema] = Recent(memory.latest, memory.latest_ttl, clock)
        self._missing_ids: Recent[Hashable, RegistryRefusal] = Recent(memory.missing, memory.missing_id_ttl, clock)
        self._missing_versions: Recent[Hashable, RegistryRefusal] = Recent(
            memory.missing, memory.missing_version_ttl, clock
        )
        self._missing_schemas: Recent[Hashable, RegistryRefusal] = Recent(
            memory.missing, memory.missing_schema_ttl, clock
        )

    def register(self, subject: str, schema: SchemaText, normalize: bool = False) -> RegisteredSchema:
        """Register a schema once, and drop the cached latest version of the subject."""
        known = self._of("registered", subject)
        found = known.get((schema, normalize))
        if found is None:
            found = known.put((schema, normalize), self._registry.register(subject, schema, normalize))
            self._latest.clear()
        return found

    def look_up(
        self, subject: str, schema: SchemaText, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Return the cached version."""
        key = (schema, normalize, deleted)
        return self._known(
            self._of("found", subject), self._missing_schemas, key,
            lambda: self._registry.look_up(subject, schema, normalize, deleted), (subject, *key),
        )  # fmt: skip

    def by_id(self, schema_id: int, subject: str | None) -> RegisteredSchema:
        """Return the cached schema, one for each subject."""
        known = self._of("ids", subject or "")
        missing = (schema_id, subject)
        return self._known(
            known, self._missing_ids, schema_id, lambda: self._registry.by_id(schema_id, subject), missing
        )

    def by_guid(self, guid: str) -> RegisteredSchema:
        """Return the cached schema."""
        known = self._of("guids", "")
        return self._known(known, self._missing_ids, guid, lambda: self._registry.by_guid(guid), guid)

    def by_version(self, subject: str, version: int, deleted: bool = False) -> RegisteredSchema:
        """Return the cached version; request the latest one again when it expires."""
        known = self._latest if version == LATEST else self._of("versions", subject)
        key = (subject, version, deleted)
        return self._known(
            known, self._missing_versions, key, lambda: self._registry.by_version(subject, version, deleted), key
        )

    def by_metadata(self, subject: str, metadata: Mapping[str, str]) -> RegisteredSchema:
        """Return the cached version, with the lifetime of the latest one."""
        key = (subject, frozenset(metadata.items()))
        return self._known(
            self._latest, self._missing_versions, key, lambda: self._registry.by_metadata(subject, metadata), key
        )

    def associated_subjects(self, cluster: str, topic: str, is_key: bool) -> list[str]:
        """Send each request; callers cache the result."""
        return self._registry.associated_subjects(cluster, topic, is_key)

    def incompatibilities(self, subject: str, schema: SchemaText) -> list[str]:
        """Send each request."""
        return self._registry.incompatibilities(subject, schema)

    def compatibility(self, subject: str) -> str:
        """Send each request."""
        return self._registry.compatibility(subject)

    def _of(self, kind: str, subject: str) -> Recent[Hashable, RegisteredSchema]:
        """Return a subject's cache of one kind."""
        kinds = self._by_subject.get(subject)
        if kinds is None:
            kinds = self._by_subject.put(subject, {})
        if kind not in kinds:
            kinds[kind] = Recent(self._size, clock=self._clock)
        return kinds[kind]

    def _known(
        self,
        known: Recent[Hashable, T],
        missing: Recent[Hashable, RegistryRefusal],
        key: Any,
        ask: Callable[[], T],
        missing_key: Any,
    ) -> T:
        found = known.get(key)
        if found is not None:
            return found
        known_refusal = missing.get(missing_key)
        if known_refusal is not None:
            raise known_refusal
        try:
            return known.put(key, ask())
        except RegistryRefusal as refusal:
            if refusal.error_code in _MISSING:
                missing.put(missing_key, refusal)
            raise
