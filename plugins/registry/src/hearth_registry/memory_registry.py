"""An in-memory registry that behaves like Confluent's, for `mock://` and for tests over HTTP."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from hearth_registry.registry import (
    INCOMPATIBLE,
    LATEST,
    NOT_PERMITTED,
    SCHEMA_NOT_FOUND,
    SUBJECT_NOT_FOUND,
    VERSION_NOT_FOUND,
    RegisteredSchema,
    Registry,
    RegistryRefusal,
)
from hearth_registry.schema_text import SchemaText

Judge = Callable[[str, SchemaText, list[SchemaText]], list[str]]
"""Returns the objections to a schema of a subject, given its versions, oldest first."""


def _nothing_against(_subject: str, _schema: SchemaText, _before: list[SchemaText]) -> list[str]:
    return []


@dataclass
class _Version:
    schema_id: int
    text: SchemaText
    is_deleted: bool = False


@dataclass
class MemoryRegistry(Registry):
    """Keeps registered schemas for the life of the process. Thread-safe."""

    judge: Judge = _nothing_against
    level: str = "BACKWARD"
    is_read_only: bool = False
    associations: dict[tuple[str, bool], list[str]] = field(default_factory=dict)
    """The associated subjects by topic name and whether they are for keys."""
    _texts: list[SchemaText] = field(default_factory=list)
    _subjects: dict[str, list[_Version]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def register(self, subject: str, schema: SchemaText, normalize: bool = False) -> RegisteredSchema:
        """Add the schema as the next version, with the id of an equal schema in another subject."""
        with self._lock:
            versions = self._subjects.get(subject, [])
            for number, version in enumerate(versions, 1):
                if version.text == schema and not version.is_deleted:
                    return self._answer(subject, number)
            if self.is_read_only:
                message = f"Subject {subject} in context is in read-only mode"
                raise RegistryRefusal(message, 422, NOT_PERMITTED)
            if against := self._against(subject, schema):
                details = ", ".join(against)
                message = f'Schema being registered is incompatible with an earlier schema for subject "{subject}"'
                raise RegistryRefusal(f"{message}, details: [{details}]", 409, INCOMPATIBLE)
            self._subjects.setdefault(subject, versions).append(_Version(self._id(schema), schema))
            return self._answer(subject, len(versions))

    def look_up(
        self, subject: str, schema: SchemaText, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Return the schema's version, the latest first."""
        with self._lock:
            versions = self._versions(subject, deleted)
            for number in reversed(range(len(versions))):
                if versions[number].text == schema and (deleted or not versions[number].is_deleted):
                    return self._answer(subject, number + 1)
            raise RegistryRefusal("Schema not found", 404, SCHEMA_NOT_FOUND)

    def by_id(self, schema_id: int, subject: str | None) -> RegisteredSchema:
        """Return the schema; contexts are ignored."""
        with self._lock:
            if not 0 < schema_id <= len(self._texts):
                raise RegistryRefusal("Schema ID not found", 404, SCHEMA_NOT_FOUND)
            text = self._texts[schema_id - 1]
            return RegisteredSchema(schema_id, guid_of(text), text=text)

    def by_guid(self, guid: str) -> RegisteredSchema:
        """Find it."""
        with self._lock:
            for schema_id, text in enumerate(self._texts, 1):
                if guid_of(text) == guid:
                    return RegisteredSchema(schema_id, guid, text=text)
            raise RegistryRefusal("Schema not found", 404, SCHEMA_NOT_FOUND)

    def by_version(self, subject: str, version: int, deleted: bool = False) -> RegisteredSchema:
        """Find it."""
        with self._lock:
            versions = self._versions(subject, deleted)
            numbers = [each for each, found in enumerate(versions, 1) if deleted or not found.is_deleted]
            number = numbers[-1] if version == LATEST else version
            if number not in numbers:
                raise RegistryRefusal(f"Version {version} not found.", 404, VERSION_NOT_FOUND)
            return self._answer(subject, number)

    def by_metadata(self, subject: str, metadata: Mapping[str, str]) -> RegisteredSchema:
        """Return the version, including deleted ones."""
        with self._lock:
            versions = self._versions(subject, deleted=True)
            for number in reversed(range(len(versions))):
                properties = (versions[number].text.metadata or {}).get("properties", {})
                if metadata.items() <= properties.items():
                    return self._answer(subject, number + 1)
            raise RegistryRefusal("Schema not found", 404, SCHEMA_NOT_FOUND)

    def associated_subjects(self, cluster: str, topic: str, is_key: bool) -> list[str]:
        """Return the entries of `associations`, regardless of the cluster."""
        return list(self.associations.get((topic, is_key), []))

    def incompatibilities(self, subject: str, schema: SchemaText) -> list[str]:
        """Call the compatibility check."""
        with self._lock:
            return self._against(subject, schema)

    def compatibility(self, subject: str) -> str:
        """Return the level, which is the same for all subjects."""
        return self.level

    def delete_subject(self, subject: str) -> None:
        """Soft-delete all versions of a subject: requests that include deleted versions still find them."""
        with self._lock:
            for version in self._versions(subject):
                version.is_deleted = True

    def _against(self, subject: str, schema: SchemaText) -> list[str]:
        before = [each.text for each in self._subjects.get(subject, []) if not each.is_deleted]
        return self.judge(subject, schema, before) if before else []

    def _versions(self, subject: str, deleted: bool = False) -> list[_Version]:
        versions = self._subjects.get(subject, [])
        if not any(deleted or not each.is_deleted for each in versions):
            raise RegistryRefusal(f"Subject '{subject}' not found.", 404, SUBJECT_NOT_FOUND)
        return versions

    def _answer(self, subject: str, number: int) -> RegisteredSchema:
        version = self._subjects[subject][number - 1]
        return RegisteredSchema(version.schema_id, guid_of(version.text), subject, number, version.text)

    def _id(self, schema: SchemaText) -> int:
        if schema not in self._texts:
            self._texts.append(schema)
        return self._texts.index(schema) + 1


def guid_of(schema: SchemaText) -> str:
    """Return a GUID that is the same for the same schema."""
    digest = hashlib.sha256(repr(replace(schema, metadata=None, rules=None)).encode()).digest()
    return str(uuid.UUID(bytes=digest[:16]))


_scopes: dict[str, MemoryRegistry] = {}
_scopes_lock = threading.Lock()


def memory_registry(scope: str) -> MemoryRegistry:
    """Return the registry of `mock://SCOPE`, which all converters of this process share."""
    with _scopes_lock:
        return _scopes.setdefault(scope, MemoryRegistry())
