"""The cache of a registry's answers, and how long they are kept."""

from __future__ import annotations

import pytest

from hearth_registry.cached_registry import CachedRegistry, Memory
from hearth_registry.memory_registry import MemoryRegistry
from hearth_registry.registry import LATEST, RegisteredSchema, RegistryRefusal
from hearth_registry.registry_setting import RegistrySettings
from hearth_registry.schema_text import AVRO, SchemaText


class Counted(MemoryRegistry):
    """A registry that counts the requests for ids, versions and schemas."""

    asked = 0

    def by_id(self, schema_id: int, subject: str | None) -> RegisteredSchema:
        """Count."""
        self.asked += 1
        return super().by_id(schema_id, subject)

    def by_version(self, subject: str, version: int, deleted: bool = False) -> RegisteredSchema:
        """Count."""
        self.asked += 1
        return super().by_version(subject, version, deleted)

    def register(self, subject: str, schema: SchemaText, normalize: bool = False) -> RegisteredSchema:
        """Count."""
        self.asked += 1
        return super().register(subject, schema, normalize)


ONE, TWO = SchemaText(AVRO, "one"), SchemaText(AVRO, "two")


def test_the_latest_version_is_requested_again_after_expiry_or_registration() -> None:
    """A version requested by number never changes."""
    registry, now = Counted(), [0.0]
    cached = CachedRegistry(registry, clock=lambda: now[0])
    cached.register("s", ONE)
    registry.asked = 0
    for moment, asked in [(0, 1), (59, 1), (60, 2), (61, 2)]:
        now[0] = moment
        cached.by_version("s", LATEST)
        assert registry.asked == asked
    assert cached.register("s", TWO).version == 2
    assert cached.by_version("s", LATEST).version == 2
    registry.asked = 0
    for moment in (0, 10_000):
        now[0] = moment
        cached.by_version("s", 1)
    assert registry.asked == 1


def test_the_oldest_of_many_schemas_are_dropped() -> None:
    """Memory is bounded by max.schemas.per.subject, and a schema too many is no error."""
    registry = Counted()
    cached = CachedRegistry(registry, Memory(schemas=2))
    for number in (1, 2, 3, 3, 2, 1):
        cached.register("s", SchemaText(AVRO, str(number)))
    assert registry.asked == 4


def test_the_oldest_of_endless_subjects_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transformation may make a topic of every record."""
    monkeypatch.setattr("hearth_registry.cached_registry.MOST_SUBJECTS", 2)
    registry = Counted()
    cached = CachedRegistry(registry)
    for subject in ("a", "b", "a", "c", "a", "b"):
        cached.register(subject, ONE)
    assert registry.asked == 4


def test_refusals_are_cached_only_if_the_keys_are_set() -> None:
    """Each kind for its own time."""
    registry, now = Counted(), [0.0]
    url = {"schema.registry.url": "mock://x"}
    for keys, asked in [(url, 2), ({**url, "missing.id.cache.ttl.sec": "10"}, 1)]:
        registry.asked = 0
        cached = CachedRegistry(registry, Memory.of(RegistrySettings(keys)), clock=lambda: now[0])
        for _ in range(2):
            with pytest.raises(RegistryRefusal, match="40403"):
                cached.by_id(7, "s")
        assert registry.asked == asked
    now[0] = 10
    with pytest.raises(RegistryRefusal):
        cached.by_id(7, "s")
    assert registry.asked == 2


def test_the_latest_version_expires_as_configured() -> None:
    """After a minute by default."""
    url = {"schema.registry.url": "mock://x"}
    assert Memory.of(RegistrySettings(url)).latest_ttl == 60
    assert Memory.of(RegistrySettings({**url, "latest.cache.ttl.sec": "-1"})).latest_ttl == -1
