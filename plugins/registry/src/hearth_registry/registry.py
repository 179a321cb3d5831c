"""The interface of a registry, implemented over HTTP, in memory, and as a cache of either."""

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
NOT_PERMITTED = 42205
UNREADABLE = 50005
"""The error code of a response that is not a registry's."""


class RegistryRefusal(ConnectError):
    """The registry refused a request: `RegistryRefusal(message, status, error_code)`."""

    code = "registry.refusal"
    java_name = "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException"

    @property
    def status(self) -> int:
        """Return the HTTP status."""
        return int(self.args[1])

    @property
    def error_code(self) -> int:
        """Return the registry's error code, whose first three digits are usually the status."""
        return int(self.args[2])

    def __str__(self) -> str:
        """Return the message of Java's client."""
        return f"{self.args[0]}; error code: {self.args[2]}"


class RegistryAway(ConnectError):
    """No address of the registry answered: `RegistryAway(message)`, raised from the last failure."""

    code = "registry.away"
    java_name = "java.net.ConnectException"
    hint = "check that the registry runs, and schema.registry.url"


class RegistrySlow(RegistryAway):
    """The registry did not answer in time."""

    code = "registry.slow"
    java_name = "java.net.SocketTimeoutException"


@dataclass(frozen=True)
class RegisteredSchema:
    """A schema as the registry returns it; members missing in the response are None."""

    schema_id: int | None
    guid: str | None = None
    subject: str | None = None
    version: int | None = None
    text: SchemaText | None = None


class Registry(ABC):
    """The requests of converters and commands; each raises `RegistryRefusal` or `RegistryAway`.

    Called by one thread at a time.
    """

    @abstractmethod
    def register(self, subject: str, schema: SchemaText, normalize: bool = False) -> RegisteredSchema:
        """Register a schema as a version of a subject, unless it is one, and return the response with its id."""

    @abstractmethod
    def look_up(
        self, subject: str, schema: SchemaText, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Return the version of a schema in a subject."""

    @abstractmethod
    def by_id(self, schema_id: int, subject: str | None) -> RegisteredSchema:
        """Return the schema with an id; `subject` determines the context."""

    @abstractmethod
    def by_guid(self, guid: str) -> RegisteredSchema:
        """Return the schema with a GUID."""

    @abstractmethod
    def by_version(self, subject: str, version: int, deleted: bool = False) -> RegisteredSchema:
        """Return a version of a subject, or its latest one (`LATEST`)."""

    @abstractmethod
    def by_metadata(self, subject: str, metadata: Mapping[str, str]) -> RegisteredSchema:
        """Return the latest version of a subject whose metadata has these properties."""

    @abstractmethod
    def associated_subjects(self, cluster: str, topic: str, is_key: bool) -> list[str]:
        """Return the associated subjects of a topic; empty if the registry does not support associations."""

    @abstractmethod
    def incompatibilities(self, subject: str, schema: SchemaText) -> list[str]:
        """Return the registry's objections to a schema as the next version of a subject; empty if it is compatible.

        A subject without versions accepts any schema.
        """

    @abstractmethod
    def compatibility(self, subject: str) -> str:
        """Return the compatibility level of a subject, or the global one: `BACKWARD`, `NONE`, ..."""
