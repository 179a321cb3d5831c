"""The interface of a format: converts schemas and payloads in both directions.

The common part (`RegistryConverter`) calls the registry, caches its responses and adds the prefix to payloads; a
format does the rest. `PayloadWriter.payload` and `PayloadReader.value` are called once per record, `payloads` and
`values` once per batch, and all other methods once per schema.

A value that does not fit its Connect schema, or a schema that the format does not support, raises `DataError`, which
is passed to the user unchanged. Bytes or values that the *format's* schema does not allow raise `PayloadError`, which
the common part converts to the Java converters' message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth_api import ConnectError, Schema
from hearth_registry.schema_text import SchemaText


class PayloadError(ConnectError):
    """A payload cannot be read or a value cannot be written with a schema of the format.

    `headline` replaces Java's usual message, "Error deserializing Avro message for id", where Java has another one.
    """

    code = "data.payload"
    headline: str | None = None

    def __init__(self, *args: Any, headline: str | None = None, hint: str | None = None) -> None:
        """Set the fact and the headline."""
        super().__init__(*args, hint=hint)
        self.headline = headline


class FormatSchema(ABC):
    """A parsed schema of the format. Immutable; equal if text and references are equal."""

    text: SchemaText

    @property
    @abstractmethod
    def record_name(self) -> str | None:
        """Return the full record name for subject name strategies; None if there is none."""


@dataclass(frozen=True)
class Import:
    """A referenced schema that must be registered first: its reference name and its subject."""

    name: str
    subject: str
    schema: FormatSchema
    is_only_looked_up: bool = False


class PayloadWriter(ABC):
    """Writes values of a Connect schema with a schema of the format."""

    message_indexes: tuple[int, ...] = ()
    """The message indexes in a Protobuf file; empty in other formats."""

    @abstractmethod
    def payload(self, value: Any) -> bytes:
        """Return the payload of a value without prefix.

        Called with None only if `SchemaFormat.null_is_tombstone` is false.
        """

    def payloads(self, column: Any, prefix: bytes) -> Any:
        """Return prefixed payloads as a pyarrow binary array without nulls.

        `column` is of `arrow_type(schema)`, with nulls only where `payload` would get them. After `NotImplemented`,
        the default, `payload` is called for each value; after an error the host searches for the failing rows.
        """
        return NotImplemented


class PayloadReader(ABC):
    """Reads payloads of one schema of the format as values of one Connect schema."""

    schema: Schema | None

    @abstractmethod
    def value(self, payload: bytes) -> Any:
        """Return the value of a payload without prefix."""

    def values(self, payloads: Any) -> Any:
        """Return the values of a pyarrow binary array without nulls as a column of `arrow_type(self.schema)`.

        After `NotImplemented`, the default, or a `PayloadError`, `value` is called for each payload.
        """
        return NotImplemented


class SchemaFormat(ABC):
    """A format of schemas and payloads with the settings of one converter."""

    schema_type: str
    """The type name in registries: `schema_text.AVRO`, `JSON` or `PROTOBUF`."""

    @abstractmethod
    def schema_of(self, schema: Schema | None) -> FormatSchema:
        """Return the schema to register for a Connect schema; None stands for data without schema."""

    @abstractmethod
    def null_is_tombstone(self, schema: Schema | None) -> bool:
        """Return whether a null of this Connect schema becomes a record without value."""

    @abstractmethod
    def parse(self, text: SchemaText, references: Mapping[str, str]) -> FormatSchema:
        """Parse a schema of the registry; `references` has the directly and indirectly referenced texts by name.

        Raises `PayloadError` for an invalid schema. The text is untrusted, so parsing must have bounded cost.
        """

    @abstractmethod
    def writer(self, schema: Schema | None, target: FormatSchema) -> PayloadWriter:
        """Return a writer of a Connect schema's values with `target`.

        The target is the result of `schema_of`, or a registered schema, whose fields are matched by name.
        """

    @abstractmethod
    def reader(
        self, written: FormatSchema, message_indexes: tuple[int, ...], wanted: FormatSchema | None, version: int | None
    ) -> PayloadReader:
        """Return a reader of payloads written with `written`.

        `message_indexes` select the message of a Protobuf schema, and are empty otherwise. With `wanted`, values are
        resolved to that schema (Avro's reader schema), whose Connect schema is the result's. `version` is the
        registry's version, for a root schema without one.
        """

    def imports(self, schema: FormatSchema) -> tuple[Import, ...]:
        """Return the schemas that must be registered before a result of `schema_of`; usually none."""
        return ()

    def warnings(self, schema: FormatSchema) -> list[str]:
        """Return reasons why other programs may refuse a schema that is about to be registered."""
        return []

    @abstractmethod
    def incompatibilities(self, reader: FormatSchema, writer: FormatSchema) -> list[str]:
        """Return why `reader` cannot read data of `writer`; empty if it can."""
