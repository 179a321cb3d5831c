"""What a format is to the common part: schemas both ways, and payloads both ways.

The common part (`RegistryConverter`) speaks with the registry, keeps what it was told, and puts the prefix before
payloads; a format does the rest. Nothing here is called once a record but `PayloadWriter.payload` and
`PayloadReader.value`, and once a batch `payloads` and `values`: all others once a schema.

A value that does not fit its Connect schema, or a schema that the format has no way for, is a `DataError`, which goes
to the user as it is. Bytes or values that the *format's* schema does not allow are a `PayloadError`, which the common
part words as the Java converters do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth_api import ConnectError, Schema
from hearth_registry.schema_text import SchemaText


class PayloadError(ConnectError):
    """A payload cannot be read, or a value not be written, by a schema of the format.

    `headline` takes the place of Java's usual sentence, "Error deserializing Avro message for id", where Java has
    another one.
    """

    code = "data.payload"
    headline: str | None = None

    def __init__(self, *args: Any, headline: str | None = None, hint: str | None = None) -> None:
        """Keep the fact, and the sentence before it."""
        super().__init__(*args, hint=hint)
        self.headline = headline


class FormatSchema(ABC):
    """A schema of the format, parsed; immutable, and equal to another of the same text and references."""

    text: SchemaText

    @property
    @abstractmethod
    def record_name(self) -> str | None:
        """Return the full name of the record, for strategies that make subjects from it; None where there is none."""


@dataclass(frozen=True)
class Import:
    """A schema that another one names, which has to be in the registry first: by which name, and as which subject."""

    name: str
    subject: str
    schema: FormatSchema
    is_only_looked_up: bool = False


class PayloadWriter(ABC):
    """Writes values of one Connect schema by one schema of the format."""

    message_indexes: tuple[int, ...] = ()
    """Where the message stands in its file, for Protobuf; the formats that have no such thing leave it empty."""

    @abstractmethod
    def payload(self, value: Any) -> bytes:
        """Return the payload of a value, without prefix.

        Null comes here only where `SchemaFormat.null_is_tombstone` says no.
        """

    def payloads(self, column: Any, prefix: bytes) -> Any:
        """Return payloads, each with `prefix` before it, as a pyarrow binary array without nulls.

        `column` is of `arrow_type(schema)`, with nulls only where `payload` would be given them. `NotImplemented`, as
        here, has `payload` called with the values one by one; an error has the host look for the rows that fail.
        """
        return NotImplemented


class PayloadReader(ABC):
    """Reads payloads that were written by one schema of the format into values of one Connect schema."""

    schema: Schema | None

    @abstractmethod
    def value(self, payload: bytes) -> Any:
        """Return the value of a payload, without prefix."""

    def values(self, payloads: Any) -> Any:
        """Return the values of a pyarrow binary array without nulls as a column of `arrow_type(self.schema)`.

        `NotImplemented`, as here, has `value` called with the payloads one by one; an error has the host look for the
        rows that fail.
        """
        return NotImplemented


class SchemaFormat(ABC):
    """A format of schemas and payloads, with the settings of one converter."""

    schema_type: str
    """What registries call it: `schema_text.AVRO`, `JSON` or `PROTOBUF`."""

    @abstractmethod
    def schema_of(self, schema: Schema | None) -> FormatSchema:
        """Return the schema to register for a Connect schema, None for data without one."""

    @abstractmethod
    def null_is_tombstone(self, schema: Schema | None) -> bool:
        """Tell whether a null of this Connect schema becomes a record without value, and nothing is registered."""

    @abstractmethod
    def parse(self, text: SchemaText, references: Mapping[str, str]) -> FormatSchema:
        """Return a schema of the registry; `references` has the texts of those it names, directly or not, by name.

        `PayloadError` for what is no schema of this format. Registries may hold anything: what it costs is bounded.
        """

    @abstractmethod
    def writer(self, schema: Schema | None, target: FormatSchema) -> PayloadWriter:
        """Return what writes values of a Connect schema by `target`.

        That is what `schema_of` returned for it, or a schema of the registry, whose fields are then found by name.
        """

    @abstractmethod
    def reader(
        self, written: FormatSchema, message_indexes: tuple[int, ...], wanted: FormatSchema | None, version: int | None
    ) -> PayloadReader:
        """Return what reads payloads written by `written`.

        `message_indexes` say which message of a Protobuf schema they are, and are empty otherwise; with `wanted` the
        values are carried over to that schema (Avro's reader schema), whose Connect schema then is the result's.
        `version` is the registry's, for the root schema that has none of its own.
        """

    def imports(self, schema: FormatSchema) -> tuple[Import, ...]:
        """Return what has to be in the registry before a schema that `schema_of` returned; mostly nothing."""
        return ()

    def warnings(self, schema: FormatSchema) -> list[str]:
        """Return for what other programs may refuse to read a schema that is about to be registered."""
        return []

    @abstractmethod
    def incompatibilities(self, reader: FormatSchema, writer: FormatSchema) -> list[str]:
        """Return why what `writer` wrote cannot be read by `reader`; nothing where it can."""
