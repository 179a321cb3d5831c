"""Writes payloads with a registry: selects the schema once for each Connect schema and prefixes its id."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hearth_api import DataError, Headers, Schema, SchemaOutlook
from hearth_registry.failure_wording import SerializationError, asking
from hearth_registry.known_schema import parsed
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
from hearth_registry.registry_setting import SCHEMA_IDS, RegistrySettings
from hearth_registry.registry_side import RegistrySide
from hearth_registry.schema_format import FormatSchema, Import, PayloadError, PayloadWriter, SchemaFormat
from hearth_registry.schema_text import Reference, SchemaText
from hearth_registry.subject import SubjectStrategy
from hearth_registry.wire_format import KEY_HEADER, VALUE_HEADER, guid_prefix, id_prefix


@dataclass(frozen=True)
class _Own:
    """The format's schema of a Connect schema, without the registry."""

    schema: FormatSchema
    writer: PayloadWriter
    null_is_tombstone: bool


@dataclass(frozen=True)
class _Written:
    """How values of a Connect schema are written to a topic; `prefix` is the header value if ids are in headers."""

    writer: PayloadWriter
    prefix: bytes


class RegistryWriter(RegistrySide):
    """Writes the keys or values of topics."""

    def __init__(
        self,
        settings: RegistrySettings,
        is_key: bool,
        form: SchemaFormat,
        registry: Registry,
        strategy: SubjectStrategy,
    ) -> None:
        """Configure the writer; the first request is sent for the first value."""
        super().__init__(settings, is_key, form, registry, strategy)
        id_writer = settings.key_id_writer if is_key else settings.value_id_writer
        self._header = KEY_HEADER if is_key else VALUE_HEADER
        self.is_in_header = id_writer == SCHEMA_IDS + "HeaderSchemaIdSerializer"
        ttl = -1 if settings.auto_register or not self._wants_latest else settings.latest_cache_ttl
        self._owns: Recent[Schema | None, _Own] = Recent(settings.schemas_cache_size)
        self._written: Recent[tuple[str, Schema | None], _Written] = Recent(settings.schemas_cache_size, ttl)

    def write(self, topic: str, schema: Schema | None, value: Any, headers: Headers | None) -> bytes | None:
        """Return the bytes of a value; None for a null that becomes a record without value."""
        own = self._own(schema)
        if value is None and own.null_is_tombstone:
            return None
        written = self._written.get((topic, schema))
        if written is not None and not self.is_in_header:
            try:
                return written.prefix + written.writer.payload(value)
            except PayloadError:
                pass  # the error is raised below
        with self._wording.writing(topic):
            if written is None:
                self._payload(own.writer, value)  # an invalid value must not register its schema
                written = self._choose(topic, schema, own)
            payload = self._payload(written.writer, value)
            return self._with_header(headers, written, payload) if self.is_in_header else written.prefix + payload

    def write_column(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the bytes of a column without nulls; `NotImplemented` without a column form."""
        if self.is_in_header:
            return NotImplemented
        own = self._own(schema)
        with self._wording.writing(topic):
            written = self._written.get((topic, schema))
            if written is None:
                if self._payloads(own.writer, column, b"") is NotImplemented:
                    return NotImplemented
                written = self._choose(topic, schema, own)
            return self._payloads(written.writer, column, written.prefix)

    def null_is_tombstone(self, schema: Schema | None) -> bool:
        """Return whether nulls of a schema become records without value."""
        return self._own(schema).null_is_tombstone

    def outlook(self, topic: str, schema: Schema | None) -> SchemaOutlook:
        """Return the schema that values would register, without registering it."""
        own, text = self._own(schema).schema, self._own(schema).schema.text
        with self._wording.writing(topic), asking(self._wording.looking_up + text.text, "", None):
            subject = self._strategy.subject(topic, own)
            last = self._latest_or_none(subject)
            version = None if last is None else self._version_or_none(subject, text)
            is_new = last is not None and version is None
            against = tuple(self._registry.incompatibilities(subject, text)) if is_new else ()
            return SchemaOutlook(
                subject, text.schema_type, text.text, version,
                last.text.text if last and last.text else None, last.version if last else None,
                self._registry.compatibility(subject), against, self._settings.auto_register,
                tuple(self._form.warnings(own)),
            )  # fmt: skip

    def _latest_or_none(self, subject: str) -> RegisteredSchema | None:
        try:
            return self._registry.by_version(subject, LATEST)
        except RegistryRefusal as refusal:
            if refusal.error_code in (SUBJECT_NOT_FOUND, VERSION_NOT_FOUND):
                return None
            raise

    def _version_or_none(self, subject: str, text: SchemaText) -> int | None:
        try:
            return self._registry.look_up(subject, text, self._settings.normalize).version
        except RegistryRefusal as refusal:
            if refusal.error_code in (SUBJECT_NOT_FOUND, SCHEMA_NOT_FOUND):
                return None
            raise

    def _own(self, schema: Schema | None) -> _Own:
        own = self._owns.get(schema)
        if own is None:
            try:
                form_schema = self._form.schema_of(schema)
                writer = self._form.writer(schema, form_schema)
            except PayloadError as error:
                raise DataError(str(error), hint=error.hint) from error
            except RecursionError as error:
                raise DataError("the schema is nested too deeply") from error
            own = self._owns.put(schema, _Own(form_schema, writer, self._form.null_is_tombstone(schema)))
        return own

    def _payload(self, writer: PayloadWriter, value: Any) -> bytes:
        try:
            return writer.payload(value)
        except PayloadError as error:
            raise SerializationError(error.headline or self._wording.writing_payload) from error

    def _payloads(self, writer: PayloadWriter, column: Any, prefix: bytes) -> Any:
        try:
            return writer.payloads(column, prefix)
        except PayloadError as error:
            raise SerializationError(error.headline or self._wording.writing_payload) from error

    def _with_header(self, headers: Headers | None, written: _Written, payload: bytes) -> bytes:
        """Put the GUID in a header, unless an equal one exists, and return the payload."""
        if headers is None:
            raise SerializationError("Missing headers")
        if not any(each.key == self._header and each.value == written.prefix for each in headers):
            headers.add_bytes(self._header, written.prefix)
        return payload

    def _choose(self, topic: str, schema: Schema | None, own: _Own) -> _Written:
        """Select the schema to write with according to the keys, and cache it."""
        form_schema, found = self._registered(topic, own.schema)
        writer = own.writer if form_schema == own.schema else self._form.writer(schema, form_schema)
        written = _Written(writer, self._prefix(found, writer))
        return self._written.put((topic, schema), written)

    def _prefix(self, found: RegisteredSchema, writer: PayloadWriter) -> bytes:
        if self.is_in_header:
            if found.guid is None:
                raise SerializationError(
                    "Schema GUID is null", hint="registries before 8.0 have no GUIDs: write ids before payloads"
                )
            return guid_prefix(found.guid, writer.message_indexes)
        if found.schema_id is None:
            raise SerializationError("Schema ID is null")
        return id_prefix(found.schema_id, writer.message_indexes)

    def _registered(self, topic: str, own: FormatSchema) -> tuple[FormatSchema, RegisteredSchema]:
        """Return the schema to write with and the registry's response; keys are checked in order of precedence."""
        settings, text = self._settings, own.text.text
        payload = self._wording.writing_payload
        with asking(f"Error retrieving associated subject for topic {topic}", payload, None):
            subject = self._strategy.subject(topic, own)
        own = self._referring(own)
        if settings.auto_register:
            with asking(self._wording.registering + text, payload, subject):
                found = self._registry.register(subject, own.text, settings.normalize)
                return self._parsed(found, own), found
        if settings.use_schema_id >= 0:
            with asking(self._wording.by_id + text, payload, subject):
                found = self._registry.by_id(settings.use_schema_id, subject)
                return self._able(own, found, "id", settings.id_compatibility_strict), found
        if settings.use_schema_guid:
            with asking(self._wording.by_id + text, payload, subject):
                found = self._registry.by_guid(settings.use_schema_guid)
                able = self._able(own, found, "id", settings.id_compatibility_strict)
                known = self._registry.look_up(subject, able.text, settings.normalize)
                return able, known
        if self._wants_latest:
            with asking(self._wording.latest + text, payload, subject):
                found = self._latest(subject)
                return self._able(own, found, "latest", settings.latest_compatibility_strict), found
        with asking(self._wording.looking_up + text, payload, subject):
            found = self._registry.look_up(subject, own.text, settings.normalize)
            return own, found

    def _referring(self, own: FormatSchema) -> FormatSchema:
        """Register the imports of a schema and return it with references to them."""
        imports = self._form.imports(own)
        if not imports:
            return own
        references = tuple(self._reference(each) for each in imports)
        texts = {each.name: each.schema.text.text for each in imports}
        return self._form.parse(replace(own.text, references=references), texts)

    def _reference(self, each: Import) -> Reference:
        settings, text = self._settings, each.schema.text
        with asking(text.text, self._wording.writing_payload, each.subject):
            if settings.auto_register and not each.is_only_looked_up:
                found = self._registry.register(each.subject, text, settings.normalize)
            elif settings.use_latest_version and not each.is_only_looked_up:
                found = self._registry.by_version(each.subject, LATEST)
                self._able(each.schema, found, "latest", settings.latest_compatibility_strict)
            else:
                found = self._registry.look_up(each.subject, text, settings.normalize)
            version = found.version
            if version is None:  # registries before 8.0 return only the id
                version = self._registry.look_up(each.subject, text, settings.normalize).version
            if version is None:
                raise SerializationError(f"the registry returned no version of {each.subject!r}")
            return Reference(each.name, each.subject, version)

    def _parsed(self, found: RegisteredSchema, own: FormatSchema) -> FormatSchema:
        """Return the schema in a response, or the own schema if it has none."""
        if found.text is None or found.text == own.text:
            return own
        try:
            return parsed(self._form, self._registry, found)
        except PayloadError as error:
            raise SerializationError(self._wording.writing_payload) from error

    def _able(self, own: FormatSchema, found: RegisteredSchema, which: str, is_strict: bool) -> FormatSchema:
        """Return a registered schema after checking that it can read the values' own schema."""
        able = self._parsed(found, own)
        if is_strict and able != own and (why := self._form.incompatibilities(able, own)):
            raise SerializationError(self._wording.writing_payload) from IncompatibleError(
                self._form.schema_type, which, why
            )
        return able


class IncompatibleError(PayloadError):
    """The selected schema cannot read the values' own schema.

    `IncompatibleError(type, which, why)`; `which` is "id" or "latest".
    """

    java_name = "java.io.IOException"

    def __str__(self) -> str:
        """Return the message of Java's serde, with the details that Java only logs."""
        schema_type, which, why = self.args
        return (
            f"Incompatible schema of type '{schema_type}'. Set {which}.compatibility.strict=false to disable this"
            f" check. See log file for more details. ({'; '.join(why)})"
        )
