"""What a registry is asked, whatever answers: one over HTTP, one in memory, or what is remembered of either."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from hearth_api import ConnectError
from hearth_registry.schema_text import SchemaText

LATEST = -1
"""The number that stands for the latest version of a subject."""

SUBJECT_NOT_FOUND = 40401
VERSION_NOT_FOUND = 40402
SCHEMA_NOT_FOUND = 40403
INCOMPATIBLE = 40901
INVALID_SCHEMA = 42201
NOT_PERMITTED = 42205
UNREADABLE = 50005
"""The code of errors whose answer is not what a registry answers."""


class RegistryRefusal(ConnectError):
    """A registry answered, and did not do what it was asked: `RegistryRefusal(message, status, error_code)`."""

    code = "registry.refusal"
    java_name = "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException"

    @property
    def status(self) -> int:
        """Return the status of HTTP."""
        return int(self.args[1])

    @property
    def error_code(self) -> int:
        """Return the registry's own code, of which the first three digits mostly are the status."""
        return int(self.args[2])

    def __str__(self) -> str:
        """Word it as Java's client does."""
        return f"{self.args[0]}; error code: {self.args[2]}"


class RegistryAway(ConnectError):
    """No registry answered, at any address: `RegistryAway(message)`, raised from what the last one failed with."""

    code = "registry.away"
    java_name = "java.net.ConnectException"
    hint = "see whether the registry runs, and schema.registry.url"


class RegistrySlow(RegistryAway):
    """A registry kept silent for too long, or its address did."""

    code = "registry.slow"
    java_name = "java.net.SocketTimeoutException"


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as the registry knows it; what it did not say is None."""

    schema_id: int | None
    guid: str | None = None
    subject: str | None = None
    version: int | None = None
    text: SchemaText | None = None


class Registry(ABC):
    """The requests that converters and commands make; each raises `RegistryRefusal` or `RegistryAway`.

    Calls come from one thread at a time.
    """

    @abstractmethod
    def register(self, subject: str, schema: SchemaText, normalize: bool = False) -> RegisteredSchema:
        """Make a schema a version of a subject, unless it is one, and return its id and what else the answer has."""

    @abstractmethod
    def look_up(
        self, subject: str, schema: SchemaText, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Return the version of a subject that a schema is."""

    @abstractmethod
    def by_id(self, schema_id: int, subject: str | None) -> RegisteredSchema:
        """Return the schema of an id; `subject` names the context to look in."""

    @abstractmethod
    def by_guid(self, guid: str) -> RegisteredSchema:
        """Return the schema of a GUID."""

    @abstractmethod
    def by_version(self, subject: str, version: int, deleted: bool = False) -> RegisteredSchema:
        """Return a version of a subject, or its `LATEST`."""

    @abstractmethod
    def by_metadata(self, subject: str, metadata: Mapping[str, str]) -> RegisteredSchema:
        """Return the latest version of a subject whose metadata has these properties."""

    @abstractmethod
    def associated_subjects(self, cluster: str, topic: str, is_key: bool) -> list[str]:
        """Return the subjects a topic is associated with; none where the registry knows of no such thing."""

    @abstractmethod
    def incompatibilities(self, subject: str, schema: SchemaText) -> list[str]:
        """Return what the registry has against a schema as the next version of a subject; nothing where it would do.

        A subject without versions has nothing against anything.
        """

    @abstractmethod
    def compatibility(self, subject: str) -> str:
        """Return the compatibility that holds for a subject, its own or that for all: `BACKWARD`, `NONE`, ..."""
