"""Maps failures to Java's exception classes and messages, and to Connect's error handling.

Internally a failure has the class of Confluent's serdes; `Wording` converts it to the error of their converters. In
Java an unreachable registry raises Kafka's NetworkException, which Connect does not retry; here it is also retriable,
so that a connector with `errors.retry.timeout` survives a restart of its registry.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hearth_api import ConfigError, ConnectError, DataError, RetriableError
from hearth_registry.registry import RegistryAway, RegistryRefusal, RegistrySlow
from hearth_registry.schema_text import AVRO, JSON, PROTOBUF

_ERRORS = "org.apache.kafka.common.errors."
_TO_RETRY = (408, 500, 503, 504)
_UNAUTHENTICATED, _UNAUTHORIZED = 401, 403
_BAD_GATEWAY, _THROTTLED = 502, 429


class SerializationError(ConnectError):
    """A schema or payload is not valid, or the registry refused a request."""

    code = "data.serialization"
    java_name = _ERRORS + "SerializationException"


class AccessError(ConnectError):
    """The registry rejected the client's credentials."""

    code = "registry.access"
    java_name = _ERRORS + "AuthenticationException"


class ForbiddenError(AccessError):
    """The registry denied the client permission."""

    java_name = _ERRORS + "AuthorizationException"


class PassingError(ConnectError):
    """The registry is temporarily unavailable."""

    code = "registry.passing"
    java_name = _ERRORS + "TimeoutException"


class ThrottledError(ConnectError):
    """The registry throttles requests."""

    code = "registry.throttled"
    java_name = _ERRORS + "ThrottlingQuotaExceededException"
    hint = "check the registry's rate limit and its other clients"


class DisconnectedError(ConnectError):
    """A gateway does not reach the registry."""

    code = "registry.disconnected"
    java_name = _ERRORS + "DisconnectException"


class NetworkError(RetriableError):
    """The registry's addresses are unreachable."""

    code = "registry.network"
    java_name = _ERRORS + "NetworkException"


class Wording:
    """Builds the error messages of one format's converter."""

    def __init__(self, schema_type: str, is_key: bool) -> None:
        """Set the format, by its name in registries, and the side."""
        self.name = {AVRO: "Avro", JSON: "JSON", PROTOBUF: "Protobuf"}[schema_type]
        self._schema_type = schema_type
        self._side = " key" if is_key else " value"

    # Messages of the serde, followed by the schema or its id -------------------------------------------------

    @property
    def registering(self) -> str:
        """Return the message prefix for a schema that was not registered."""
        return f"Error registering {self._schema}"

    @property
    def looking_up(self) -> str:
        """Return the message prefix for a schema that was not found."""
        return f"Error retrieving {self._schema}"

    @property
    def latest(self) -> str:
        """Return the message prefix for a subject whose latest version was not found."""
        is_avro = self._schema_type == AVRO
        return "Error retrieving latest version of Avro schema" if is_avro else "Error retrieving latest version: "

    @property
    def by_id(self) -> str:
        """Return the message prefix for a write schema id that was not found."""
        return "Error retrieving schema ID"

    @property
    def _schema(self) -> str:
        return "Avro schema" if self._schema_type == AVRO else f"{self.name} schema: "

    def reading(self, schema_id: object, what: str = "schema") -> str:
        """Return the message for an id in a payload that was not found; `what` may be `schema version`."""
        side = self._side if self._schema_type == AVRO else ""
        return f"Error retrieving {self.name}{side} {what} for id {schema_id}"

    @property
    def writing_payload(self) -> str:
        """Return the message for a value that was not written."""
        return f"Error serializing {self.name} message"

    def reading_payload(self, schema_id: object) -> str:
        """Return the message for bytes that were not read."""
        return f"Error deserializing {self.name} message for id {schema_id}"

    # Messages of the converter -------------------------------------------------------------------------------

    @contextmanager
    def writing(self, topic: str) -> Iterator[None]:
        """Convert serde errors inside the block to converter errors for writing to a topic."""
        try:
            yield
        except (SerializationError, AccessError, PassingError) as error:
            raise self._error_of(error, topic, is_writing=True) from error

    @contextmanager
    def reading_from(self, topic: str) -> Iterator[None]:
        """Convert serde errors inside the block to converter errors for reading from a topic."""
        try:
            yield
        except (SerializationError, AccessError, PassingError) as error:
            raise self._error_of(error, topic, is_writing=False) from error

    def _error_of(self, error: ConnectError, topic: str, is_writing: bool) -> ConnectError:
        hint, error.hint = error.hint, None  # show the hint once, on the outer error
        if isinstance(error, AccessError):
            word = "JSON Schema" if self._schema_type == JSON else self.name
            return ConfigError(f"Failed to access {word} data from topic {topic} : {error}", hint=hint)
        if isinstance(error, PassingError):
            return RetriableError(self._failed(topic, is_writing, " "), hint=hint)
        cause = error.__cause__
        if isinstance(cause, RegistryAway):
            return NetworkError(f"Network connection error while {self._doing(topic, is_writing)}: {cause}", hint=hint)
        return DataError(self._failed(topic, is_writing, ""), hint=hint)

    def _failed(self, topic: str, is_writing: bool, blank: str) -> str:
        """Return the converter's message; Java's Avro and Protobuf have an extra space for retriable errors."""
        if self._schema_type == JSON:
            way = "Kafka Connect data to byte[]" if is_writing else "byte[] to Kafka Connect data"
            return f"Converting {way} failed due to serialization error of topic {topic}: "
        if is_writing:
            return f"Failed to serialize {self.name} data from topic {topic}{blank}:"
        return f"Failed to deserialize data for topic {topic} to {self.name}:{blank}"

    def _doing(self, topic: str, is_writing: bool) -> str:
        word = "Json" if self._schema_type == JSON else self.name
        return f"serializing {word} data for topic {topic}" if is_writing else f"deserializing data for topic {topic}"


@contextmanager
def asking(headline: str, payload: str, subject: str | None) -> Iterator[None]:
    """Convert registry errors inside the block to serde errors.

    `headline` is the message for a refusal, `payload` the one for a missing response; the hint names the subject.
    """
    try:
        yield
    except RegistrySlow as error:
        raise _with_hint(PassingError(payload), subject) from error
    except RegistryAway as error:
        raise _with_hint(SerializationError(headline), subject) from error
    except RegistryRefusal as error:
        raise _refused(error, headline, subject) from error


def _refused(error: RegistryRefusal, headline: str, subject: str | None) -> ConnectError:
    status = error.status
    if status == _UNAUTHENTICATED:
        return AccessError(headline, hint="the keys basic.auth.* and bearer.auth.* of this converter say who asks")
    if status == _UNAUTHORIZED:
        return ForbiddenError(headline, hint=None if subject is None else f"the subject is {subject!r}")
    if status in _TO_RETRY:
        return _with_hint(PassingError(headline), subject)
    if status == _THROTTLED:
        return ThrottledError(headline)
    if status == _BAD_GATEWAY:
        return DisconnectedError(headline)
    hint, error.hint = error.hint, None
    return SerializationError(headline, hint=hint)


def _with_hint(error: ConnectError, subject: str | None) -> ConnectError:
    where = "" if subject is None else f"the subject is {subject!r}; "
    error.hint = f"{where}with errors.retry.timeout a task waits until the registry is back"
    return error
