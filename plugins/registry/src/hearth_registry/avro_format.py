"""Avro as a schema format of the registry converters."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hearth_api import DataError, Schema, needs_records
from hearth_registry.avro_anything import anything
from hearth_registry.avro_compatibility import incompatibilities
from hearth_registry.avro_input import Cursor
from hearth_registry.avro_parser import parse
from hearth_registry.avro_schema_reader import AvroSchemaReader
from hearth_registry.avro_schema_writer import AvroSchemaWriter
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_type import AvroSchemaError, AvroType, text_of
from hearth_registry.avro_value_reader import ReaderCompiler
from hearth_registry.avro_value_writer import ValueCompiler
from hearth_registry.schema_format import FormatSchema, PayloadError, PayloadReader, PayloadWriter, SchemaFormat
from hearth_registry.schema_text import AVRO, SchemaText

if TYPE_CHECKING:
    from hearth_registry.avro_column_reader import ColumnReader
    from hearth_registry.avro_column_writer import ColumnWriter

FEW_WRITTEN, FEW_READ = 32, 16
"""Fewer rows are converted one by one, since the column form has a fixed cost of half a millisecond."""
_TRAILING = "Trailing data found after deserializing Avro  message for id"
_ANYTHING = text_of(anything())


@dataclass(frozen=True)
class AvroSchema(FormatSchema):
    """An Avro schema with its text."""

    text: SchemaText
    type: AvroType = field(compare=False)

    @property
    def record_name(self) -> str | None:
        """Return the full name of a record, None for other schemas."""
        return self.type.name if self.type.kind == "record" else None


class AvroPayloadWriter(PayloadWriter):
    """Writes values of a Connect schema with an Avro schema."""

    def __init__(self, settings: AvroSettings, schema: Schema | None, own: AvroType, target: AvroType) -> None:
        """Set the Connect schema, its own Avro schema, and the schema to write with."""
        self._write = ValueCompiler(settings).root(schema, own, target)
        self._plan = (settings, schema, own, target)
        self._columns: ColumnWriter | None = None

    def payload(self, value: Any) -> bytes:
        """Return a value in Avro's binary encoding."""
        out = bytearray()
        try:
            self._write(out, value)
        except RecursionError as error:
            raise DataError("the value is nested too deeply") from error
        return bytes(out)

    def payloads(self, column: Any, prefix: bytes) -> Any:
        """Return the prefixed payloads of a column, if the column form supports its type."""
        if len(column) < FEW_WRITTEN:
            return NotImplemented
        if self._columns is None:
            from hearth_registry.avro_column_writer import ColumnWriter  # loads Arrow only for columns

            self._columns = ColumnWriter(*self._plan)
        return self._columns.payloads(column, prefix)


class AvroPayloadReader(PayloadReader):
    """Reads payloads written with an Avro schema."""

    def __init__(self, settings: AvroSettings, written: AvroType, wanted: AvroType, schema: Schema | None) -> None:
        """Set the writer's Avro schema, the reader's, and the Connect schema of the reader's."""
        self.schema = schema
        self._is_raw = written.kind == "bytes"
        self._fails_on_rest = settings.fail_on_trailing_data
        self._plan = (settings, written, wanted, schema)
        self._columns: ColumnReader | None = None
        compiler = ReaderCompiler(settings)
        self._read = compiler.raw(wanted, schema) if self._is_raw else compiler.read(written, wanted, schema)

    def value(self, payload: bytes) -> Any:
        """Return the value of a payload."""
        cursor = Cursor(payload)
        try:
            value = self._read(cursor)
        except (IndexError, struct.error) as error:
            raise PayloadError(f"the payload of {len(payload)} bytes ends within a value") from error
        except RecursionError as error:
            raise PayloadError("the payload is nested too deeply") from error
        if self._fails_on_rest and cursor.pos < len(payload):
            raise PayloadError(f"{len(payload) - cursor.pos} bytes after the value", headline=_TRAILING)
        return value

    def values(self, payloads: Any) -> Any:
        """Return the values of a column of payloads, if the column form supports their type."""
        if len(payloads) < FEW_READ or needs_records(self.schema):
            return NotImplemented
        if self._columns is None:
            from hearth_registry.avro_column_reader import ColumnReader  # loads Arrow only for columns

            self._columns = ColumnReader(*self._plan)
        return self._columns.values(payloads)


class AvroFormat(SchemaFormat):
    """Avro, as Confluent's AvroData maps it."""

    schema_type = AVRO

    def __init__(self, settings: AvroSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._schemas = AvroSchemaWriter(settings)
        self._reader = AvroSchemaReader(settings)

    def schema_of(self, schema: Schema | None) -> AvroSchema:
        """Return the schema to register for a Connect schema."""
        made = self._schemas.avro_type(schema)
        return AvroSchema(SchemaText(AVRO, text_of(made)), made)

    def warnings(self, schema: FormatSchema) -> list[str]:
        """Return fastavro's objections to a schema: Confluent's converter checks neither defaults nor decimals."""
        from fastavro.schema import (
            SchemaParseException,
            UnknownType,
            parse_schema,
        )  # imported only for this check

        try:
            parse_schema(json.loads(schema.text.text))
        except (SchemaParseException, UnknownType) as error:
            return [f"fastavro does not read it: {error}"]
        return []

    def null_is_tombstone(self, schema: Schema | None) -> bool:
        """Return whether the schema allows null; the payload writer raises the error for any other null."""
        return schema is None or schema.optional

    def parse(self, text: SchemaText, references: Mapping[str, str]) -> AvroSchema:
        """Return a schema of the registry."""
        try:
            return AvroSchema(text, parse(text.text, references))
        except AvroSchemaError as error:
            raise PayloadError(str(error)) from error

    def writer(self, schema: Schema | None, target: FormatSchema) -> AvroPayloadWriter:
        """Return a writer of values of a Connect schema."""
        assert isinstance(target, AvroSchema)
        return AvroPayloadWriter(self._settings, schema, self._schemas.avro_type(schema), target.type)

    def reader(
        self, written: FormatSchema, message_indexes: tuple[int, ...], wanted: FormatSchema | None, version: int | None
    ) -> AvroPayloadReader:
        """Return a reader of payloads of one schema, optionally resolved to another."""
        wanted = written if wanted is None else wanted
        assert isinstance(written, AvroSchema)
        assert isinstance(wanted, AvroSchema)
        is_anything = text_of(wanted.type) == _ANYTHING
        schema = None if is_anything else self._reader.schema(wanted.type, version)
        return AvroPayloadReader(self._settings, written.type, wanted.type, schema)

    def incompatibilities(self, reader: FormatSchema, writer: FormatSchema) -> list[str]:
        """Return why one schema cannot read what another wrote."""
        assert isinstance(reader, AvroSchema)
        assert isinstance(writer, AvroSchema)
        return incompatibilities(reader.type, writer.type)
