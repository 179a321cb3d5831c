"""What becomes of failures: Java's classes and words, and what Connect may do about each.

Inside, a failure has the class that Confluent's serdes give it; `Wording` makes of it what their converters raise. A
registry that nobody reaches is Kafka's NetworkException there, which Connect's own retries know nothing of; here it is
retriable as well, so that a connector with `errors.retry.timeout` outlives its registry's restart.
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
    """A schema or a payload will not do, or the registry said no."""

    code = "data.serialization"
    java_name = _ERRORS + "SerializationException"


class AccessError(ConnectError):
    """The registry does not let this client in."""

    code = "registry.access"
    java_name = _ERRORS + "AuthenticationException"


class ForbiddenError(AccessError):
    """The registry knows this client, which may not do what it wants."""

    java_name = _ERRORS + "AuthorizationException"


class PassingError(ConnectError):
    """The registry cannot answer at present."""

    code = "registry.passing"
    java_name = _ERRORS + "TimeoutException"


class ThrottledError(ConnectError):
    """The registry is asked too much."""

    code = "registry.throttled"
    java_name = _ERRORS + "ThrottlingQuotaExceededException"
    hint = "see what else asks this registry, and what it allows"


class DisconnectedError(ConnectError):
    """Whatever stands before the registry does not reach it."""

    code = "registry.disconnected"
    java_name = _ERRORS + "DisconnectException"


class NetworkError(RetriableError):
    """Nobody answers at the registry's addresses."""

    code = "registry.network"
    java_name = _ERRORS + "NetworkException"


class Wording:
    """Words failures as the converter of one format does."""

    def __init__(self, schema_type: str, is_key: bool) -> None:
        """Note the format, by the word registries have for it, and the side."""
        self.name = {AVRO: "Avro", JSON: "JSON", PROTOBUF: "Protobuf"}[schema_type]
        self._schema_type = schema_type
        self._side = " key" if is_key else " value"

    # What the serde was about to do, followed by the schema or its id ----------------------------------------

    @property
    def registering(self) -> str:
        """Return the beginning of what is said of a schema that was not registered."""
        return f"Error registering {self._schema}"

    @property
    def looking_up(self) -> str:
        """Return the beginning of what is said of a schema that was not found."""
        return f"Error retrieving {self._schema}"

    @property
    def latest(self) -> str:
        """Return the beginning of what is said of a subject whose latest version was not found."""
        is_avro = self._schema_type == AVRO
        return "Error retrieving latest version of Avro schema" if is_avro else "Error retrieving latest version: "

    @property
    def by_id(self) -> str:
        """Return the beginning of what is said of an id to write with that was not found."""
        return "Error retrieving schema ID"

    @property
    def _schema(self) -> str:
        return "Avro schema" if self._schema_type == AVRO else f"{self.name} schema: "

    def reading(self, schema_id: object, what: str = "schema") -> str:
        """Return what is said of an id that was read and not found; `what` may be `schema version`."""
        side = self._side if self._schema_type == AVRO else ""
        return f"Error retrieving {self.name}{side} {what} for id {schema_id}"

    @property
    def writing_payload(self) -> str:
        """Return what is said of a value that was not written."""
        return f"Error serializing {self.name} message"

    def reading_payload(self, schema_id: object) -> str:
        """Return what is said of bytes that were not read."""
        return f"Error deserializing {self.name} message for id {schema_id}"

    # What the converter says ---------------------------------------------------------------------------------

    @contextmanager
    def writing(self, topic: str) -> Iterator[None]:
        """Raise what the converter raises for what the serde raises inside, when writing to a topic."""
        try:
            yield
        except (SerializationError, AccessError, PassingError) as error:
            raise self._said(error, topic, is_writing=True) from error

    @contextmanager
    def reading_from(self, topic: str) -> Iterator[None]:
        """Raise what the converter raises for what the serde raises inside, when reading from a topic."""
        try:
            yield
        except (SerializationError, AccessError, PassingError) as error:
            raise self._said(error, topic, is_writing=False) from error

    def _said(self, error: ConnectError, topic: str, is_writing: bool) -> ConnectError:
        hint, error.hint = error.hint, None  # said once, by who is seen first
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
        """Return the converter's sentence; that of Java's Avro and Protobuf has a blank more for what passes."""
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
    """Raise what the serde raises for what the registry raises inside.

    `headline` is its sentence for a no, `payload` that for an answer that does not come; the subject is in the hint.
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
