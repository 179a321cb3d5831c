"""A format to try the common part with: a schema is its name, a payload the value's text after that name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from hearth_api import OPTIONAL_STRING_SCHEMA, DataError, Schema, SchemaBuilder
from hearth_registry.registry_converter import RegistryConverter
from hearth_registry.registry_setting import RegistrySettings
from hearth_registry.schema_format import FormatSchema, PayloadError, PayloadReader, PayloadWriter, SchemaFormat
from hearth_registry.schema_text import AVRO, SchemaText


class ToySchema(FormatSchema):
    """A schema whose text is a name."""

    def __init__(self, text: SchemaText) -> None:
        self.text = text

    @property
    def record_name(self) -> str | None:
        """Return the text, if it is a name."""
        return self.text.text if self.text.text.isidentifier() else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToySchema) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)


class ToyWriter(PayloadWriter):
    """Writes `NAME=VALUE`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def payload(self, value: Any) -> bytes:
        """Write a value; "odd" does not fit the schema, a number does not fit its Connect schema."""
        if value == "odd":
            raise PayloadError("odd")
        if not isinstance(value, str):
            raise DataError(f"no text: {value!r}")
        return f"{self.name}={value}".encode()

    def payloads(self, column: Any, prefix: bytes) -> Any:
        """Write values, unless one is for the form of records."""
        values = column.to_pylist()
        return NotImplemented if "single" in values else pa.array([prefix + self.payload(each) for each in values])


class ToyReader(PayloadReader):
    """Reads `NAME=VALUE`."""

    def __init__(self, name: str, version: int | None) -> None:
        self.name = name
        self.schema = SchemaBuilder.string().name(name).version(version or 0).optional().build()

    def value(self, payload: bytes) -> Any:
        """Read a value."""
        name, found, value = payload.decode().partition("=")
        if not found:
            raise PayloadError("no payload")
        return f"{value} ({name} as {self.name})"

    def values(self, payloads: Any) -> Any:
        """Read values."""
        return pa.array([self.value(each) for each in payloads.to_pylist()], pa.string())


class ToyFormat(SchemaFormat):
    """The format."""

    schema_type = AVRO

    def schema_of(self, schema: Schema | None) -> FormatSchema:
        """Take the schema's name, or `String`."""
        name = None if schema is None else schema.name
        return ToySchema(SchemaText(AVRO, name or "String"))

    def null_is_tombstone(self, schema: Schema | None) -> bool:
        """Write no nulls."""
        return schema is None or schema.optional

    def parse(self, text: SchemaText, references: Mapping[str, str]) -> FormatSchema:
        """Take any text but one."""
        if text.text == "bad":
            raise PayloadError("a bad schema")
        return ToySchema(SchemaText(text.schema_type, text.text, text.references))

    def writer(self, schema: Schema | None, target: FormatSchema) -> PayloadWriter:
        """Write by a name."""
        return ToyWriter(target.text.text)

    def reader(
        self, written: FormatSchema, message_indexes: tuple[int, ...], wanted: FormatSchema | None, version: int | None
    ) -> PayloadReader:
        """Read as a name."""
        return ToyReader((wanted or written).text.text, version)

    def incompatibilities(self, reader: FormatSchema, writer: FormatSchema) -> list[str]:
        """Compare first letters."""
        return [] if reader.text.text[0] == writer.text.text[0] else ["another letter"]


class ToyConverter(RegistryConverter):
    """The converter of the format."""

    settings_type = RegistrySettings

    def make_format(self, settings: Any) -> SchemaFormat:
        """Return the format."""
        return ToyFormat()


def schema(name: str) -> Schema:
    """Return a Connect schema of a name."""
    return SchemaBuilder.string().optional().name(name).build()


TEXT = OPTIONAL_STRING_SCHEMA
