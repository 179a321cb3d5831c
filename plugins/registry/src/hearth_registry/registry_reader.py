"""Reads payloads with a registry: each schema id is requested once and read as its subject's version."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from hearth_api import ConfigError, DataError, Headers, SchemaAndValue
from hearth_api.batch import frameless
from hearth_registry.failure_wording import SerializationError, asking
from hearth_registry.known_schema import parsed
from hearth_registry.recent import Recent
from hearth_registry.registry import RegisteredSchema, Registry
from hearth_registry.registry_setting import SCHEMA_IDS, RegistrySettings
from hearth_registry.registry_side import RegistrySide
from hearth_registry.schema_format import FormatSchema, PayloadError, PayloadReader, SchemaFormat
from hearth_registry.schema_text import PROTOBUF
from hearth_registry.subject import SubjectStrategy
from hearth_registry.wire_format import ID_PREFIX, KEY_HEADER, VALUE_HEADER, PrefixError, SchemaId, read_prefix

_VERSION = "confluent:version"
_PAYLOAD_ERRORS = (PayloadError, RecursionError)


class RegistryReader(RegistrySide):
    """Reads the keys or values of topics."""

    def __init__(
        self,
        settings: RegistrySettings,
        is_key: bool,
        form: SchemaFormat,
        registry: Registry,
        strategy: SubjectStrategy,
    ) -> None:
        """Configure the reader; the first request is sent for the first bytes."""
        super().__init__(settings, is_key, form, registry, strategy)
        self._has_indexes = form.schema_type == PROTOBUF
        id_reader = settings.key_id_reader if is_key else settings.value_id_reader
        header = KEY_HEADER if is_key else VALUE_HEADER
        self.header = header if id_reader == SCHEMA_IDS + "DualSchemaIdDeserializer" else None
        """The header that may hold the schema id instead of the prefix."""
        self._fixed = _fixed_id(settings, form) if id_reader == SCHEMA_IDS + "ConfigSchemaIdDeserializer" else None
        ttl = settings.latest_cache_ttl if self._wants_latest else -1
        self._readers: Recent[Hashable, PayloadReader] = Recent(settings.schemas_cache_size, ttl)
        self._usual_prefix = ID_PREFIX + self._has_indexes
        """The usual prefix length: an id, and for Protobuf the index of a file's first message."""
        self._by_prefix: Recent[tuple[str, bytes], PayloadReader] = Recent(
            settings.schemas_cache_size if ttl < 0 else 0
        )

    def read(self, topic: str, data: bytes, headers: Headers | None) -> SchemaAndValue:
        """Return schema and value of one record's bytes."""
        usual = self._usual_prefix
        reader = None if headers else self._by_prefix.get((topic, data[:usual]))
        if reader is not None:
            try:
                return SchemaAndValue(reader.schema, reader.value(data[usual:]))
            except _PAYLOAD_ERRORS:
                pass  # the error is raised below
        with self._wording.reading_from(topic):
            schema_id, start = self._schema_id(data, headers)
            reader = self._reader(topic, schema_id)
            if start == usual:
                self._by_prefix.put((topic, data[:usual]), reader)
            try:
                value = reader.value(data[start:])
            except _PAYLOAD_ERRORS as error:
                raise self._unreadable(schema_id, error) from error
            return SchemaAndValue(reader.schema, value)

    def prefix(self, data: bytes) -> tuple[SchemaId, int]:
        """Return the schema id in the prefix and the start of the payload; raise `PrefixError` without a prefix."""
        if self._fixed is not None:
            return self._fixed, 0
        return read_prefix(self._form.schema_type, data, self._has_indexes)

    @property
    def has_prefixes(self) -> bool:
        """Return whether each payload follows its schema's id."""
        return self._fixed is None

    def read_column(self, topic: str, schema_id: SchemaId, payloads: Any) -> tuple[PayloadReader, Any]:
        """Return the reader of a schema's payloads, and their values as a column.

        It is `NotImplemented` if the format reads them one by one, and None if one of them is unreadable. Raises the
        converter's error for all of them if the registry does not have the schema.
        """
        with self._wording.reading_from(topic):
            reader = self._reader(topic, schema_id)
            try:
                return reader, reader.values(payloads)
            except (*_PAYLOAD_ERRORS, DataError):
                return reader, None

    def prefix_error(self, topic: str, data: bytes) -> Exception:
        """Return the error of bytes without a valid prefix."""
        error = self._result_or_error(topic, lambda: self._schema_id(data, None))
        assert isinstance(error, DataError)
        return error

    def value_or_error(self, topic: str, schema_id: SchemaId, reader: PayloadReader, payload: bytes) -> Any:
        """Return the value of a payload, or a converter's error."""

        def value() -> Any:
            try:
                return reader.value(payload)
            except _PAYLOAD_ERRORS as error:
                raise self._unreadable(schema_id, error) from error

        return self._result_or_error(topic, value)

    def _result_or_error(self, topic: str, call: Callable[[], Any]) -> Any:
        """Return the result of a call, or the data error that it raises."""
        try:
            with self._wording.reading_from(topic):
                return call()
        except DataError as error:
            return frameless(error)

    def _unreadable(self, schema_id: SchemaId, error: Exception) -> SerializationError:
        headline = getattr(error, "headline", None)
        return SerializationError(
            self._wording.reading_payload(schema_id) if headline is None else f"{headline} {schema_id}"
        )

    def _schema_id(self, data: bytes, headers: Headers | None) -> tuple[SchemaId, int]:
        """Return the schema of a record from its last id header, or from the prefix."""
        try:
            prefix = self._id_header(headers)
            if prefix is None:
                return self.prefix(data)
            return read_prefix(self._form.schema_type, prefix, self._has_indexes)[0], 0
        except PrefixError as error:
            hint = "these bytes have no schema's id before them: look which converter or serializer wrote them"
            inner = SerializationError("Error deserializing schema ID", hint=hint)
            inner.__cause__ = error
            if self._form.schema_type == "AVRO":
                raise inner from error
            nobody = SchemaId(self._form.schema_type)
            raise SerializationError(self._wording.reading_payload(nobody), hint=hint) from inner

    def _id_header(self, headers: Headers | None) -> bytes | None:
        if self.header is None or headers is None:
            return None
        values = [each.value for each in headers if each.key == self.header and each.value is not None]
        return bytes(values[-1]) if values else None

    def _reader(self, topic: str, schema_id: SchemaId) -> PayloadReader:
        key = (topic, schema_id)
        reader = self._readers.get(key)
        return self._readers.put(key, self._make(topic, schema_id)) if reader is None else reader

    def _make(self, topic: str, schema_id: SchemaId) -> PayloadReader:
        """Request a schema and its version, and the reader's schema if the keys require one."""
        subject, form_schema, found = self._find(topic, schema_id)
        version = self._version(schema_id, subject, found)
        wanted = self._wanted(subject, schema_id) if self._wants_latest else None
        try:
            return self._form.reader(form_schema, schema_id.message_indexes or (), wanted, version)
        except _PAYLOAD_ERRORS as error:
            raise self._unreadable(schema_id, error) from error

    def _find(self, topic: str, schema_id: SchemaId) -> tuple[str, FormatSchema, RegisteredSchema]:
        """Return subject and schema; if the subject depends on the schema, it is requested twice, as in Java."""
        payload = self._wording.reading_payload(schema_id)
        with asking(f"Error retrieving associated subject for topic {topic}", payload, None):
            subject = None if self._strategy.needs_schema else self._strategy.subject(topic, None)
        with asking(self._wording.reading(schema_id), payload, subject):
            found = self._ask(schema_id, subject)
            form_schema = self._parsed(schema_id, found)
            if subject is None:
                subject = self._strategy.subject(topic, form_schema)
                found = self._ask(schema_id, subject)
        return subject, form_schema, found

    def _ask(self, schema_id: SchemaId, subject: str | None) -> RegisteredSchema:
        if schema_id.schema_id is not None:
            return self._registry.by_id(schema_id.schema_id, subject)
        return self._registry.by_guid(str(schema_id.guid))

    def _parsed(self, schema_id: SchemaId, found: RegisteredSchema) -> FormatSchema:
        try:
            return parsed(self._form, self._registry, found)
        except _PAYLOAD_ERRORS as error:
            raise self._unreadable(schema_id, error) from error

    def _version(self, schema_id: SchemaId, subject: str, found: RegisteredSchema) -> int | None:
        """Return the version of a schema in its subject: from its metadata, or from the registry."""
        assert found.text is not None
        own = ((found.text.metadata or {}).get("properties") or {}).get(_VERSION)
        if own is not None and str(own).lstrip("-").isdecimal():
            return int(own)
        headline = self._wording.reading(schema_id, "schema version")
        with asking(headline, self._wording.reading_payload(schema_id), subject):
            return self._registry.look_up(subject, found.text, normalize=False, deleted=True).version

    def _wanted(self, subject: str, schema_id: SchemaId) -> FormatSchema:
        with asking(self._wording.latest, self._wording.reading_payload(schema_id), subject):
            return self._parsed(schema_id, self._latest(subject))


def _fixed_id(settings: RegistrySettings, form: SchemaFormat) -> SchemaId:
    """Return the schema that the keys set for all records."""
    if settings.use_schema_id < 0 and not settings.use_schema_guid:
        raise ConfigError("use.schema.id or use.schema.guid is needed where ConfigSchemaIdDeserializer reads no id")
    indexes = None
    if form.schema_type == PROTOBUF:
        try:
            indexes = tuple(int(each) for each in settings.message_indexes) or (0,)
        except ValueError as error:
            raise ConfigError("use.message.indexes", settings.message_indexes, "they are no numbers") from error
    fixed = SchemaId(form.schema_type, None, settings.use_schema_guid, indexes)
    return replace(fixed, schema_id=settings.use_schema_id, guid=None) if settings.use_schema_id >= 0 else fixed
