"""JSON Schema as a schema format of the registry converters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hearth_api import DataError, Schema, needs_records
from hearth_json.depth import is_too_deep, too_deep
from hearth_registry.json_payload_check import PayloadCheck
from hearth_registry.json_payload_reader import JsonPayloadReader
from hearth_registry.json_payload_writer import JsonPayloadWriter, indented
from hearth_registry.json_schema_difference import differences
from hearth_registry.json_schema_reader import connect_schema
from hearth_registry.json_schema_setting import JsonSchemaSettings
from hearth_registry.json_schema_text import JsonSchemaWriter
from hearth_registry.json_schema_tree import SchemaTree
from hearth_registry.schema_format import FormatSchema, PayloadReader, PayloadWriter, SchemaFormat
from hearth_registry.schema_text import JSON, SchemaText
from hearth_registry.schemaless_writer import SchemalessWriter

if TYPE_CHECKING:
    from hearth_registry.json_payload_column import JsonPayloadColumnReader, JsonPayloadColumns

_TOO_DEEP = "the value is nested too deeply"


class JsonSchema(FormatSchema):
    """A JSON Schema, parsed on first use."""

    def __init__(self, text: SchemaText, references: Mapping[str, str]) -> None:
        """Set the text, and the texts of the referenced schemas."""
        self.text = text
        self._references = references

    @cached_property
    def tree(self) -> SchemaTree:
        """Return the parsed schema; raise `PayloadError` if it is invalid."""
        return SchemaTree(self.text.text, self._references)

    @property
    def record_name(self) -> str | None:
        """Return the title."""
        return self.tree.root.title

    def __eq__(self, other: object) -> bool:
        """Compare texts and references."""
        return isinstance(other, JsonSchema) and self.text == other.text

    def __hash__(self) -> int:
        """Return a hash of the text."""
        return hash(self.text)


class JsonSchemaFormat(SchemaFormat):
    """JSON Schemas, and payloads of JSON."""

    schema_type = JSON

    def __init__(self, settings: JsonSchemaSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._values = JsonPayloadWriter(settings)
        self._schemas = JsonSchemaWriter(settings, self._values)
        self._reader = JsonPayloadReader(settings)

    def schema_of(self, schema: Schema | None) -> JsonSchema:
        """Return the JSON Schema of a Connect schema; any for data without one, which is never written."""
        return JsonSchema(SchemaText(JSON, "{}" if schema is None else self._schemas.text(schema)), {})

    def null_is_tombstone(self, schema: Schema | None) -> bool:
        """Return whether a null becomes a record without value: it is not allowed and has no default."""
        return schema is None or self._values.is_left_out(schema)

    def parse(self, text: SchemaText, references: Mapping[str, str]) -> JsonSchema:
        """Return a schema of the registry."""
        schema = JsonSchema(text, references)
        _ = schema.tree
        return schema

    def writer(self, schema: Schema | None, target: FormatSchema) -> PayloadWriter:
        """Return a writer of a Connect schema's values; only payload validation uses the target."""
        if schema is None:
            return SchemalessWriter("JSON Schema")
        return _Writer(self._settings, schema, self._values, self._check(target))

    def reader(
        self, written: FormatSchema, message_indexes: tuple[int, ...], wanted: FormatSchema | None, version: int | None
    ) -> PayloadReader:
        """Return a reader of payloads with the wanted schema, else with the writer's schema."""
        target = wanted or written
        assert isinstance(target, JsonSchema)
        schema = connect_schema(target.tree, self._settings, self._reader, version)
        return _Reader(self._settings, schema, self._reader, self._check(target))

    def incompatibilities(self, reader: FormatSchema, writer: FormatSchema) -> list[str]:
        """Return why `reader` cannot read data of `writer`."""
        assert isinstance(reader, JsonSchema)
        assert isinstance(writer, JsonSchema)
        return [] if reader == writer else differences(reader.tree, writer.tree)

    def _check(self, target: FormatSchema) -> PayloadCheck | None:
        assert isinstance(target, JsonSchema)
        return PayloadCheck(target.tree) if self._settings.fail_invalid_schema else None


class _Writer(PayloadWriter):
    """Writes values of one schema."""

    def __init__(
        self, settings: JsonSchemaSettings, schema: Schema, values: JsonPayloadWriter, check: PayloadCheck | None
    ) -> None:
        self._schema, self._values, self._check = schema, values, check
        self._settings = settings
        self._columns: JsonPayloadColumns | None = None

    def payload(self, value: Any) -> bytes:
        """Return the payload of a value."""
        try:
            text = self._values.text(self._schema, value)
        except RecursionError as error:
            raise DataError(_TOO_DEEP) from error
        if is_too_deep(text):
            raise DataError(_TOO_DEEP) from too_deep("Write")
        if self._check is not None:
            self._check.payload(text.encode())
        return (indented(text) if self._settings.indent_output else text).encode()

    def payloads(self, column: Any, prefix: bytes) -> Any:
        """Return the payloads of a column."""
        if self._settings.indent_output or self._check is not None:
            return NotImplemented
        if self._columns is None:
            from hearth_registry.json_payload_column import JsonPayloadColumns  # loads Arrow only for columns

            self._columns = JsonPayloadColumns(self._settings, self._values)
        return self._columns.payloads(self._schema, column, prefix)


class _Reader(PayloadReader):
    """Reads payloads of one schema."""

    def __init__(
        self, settings: JsonSchemaSettings, schema: Schema, values: JsonPayloadReader, check: PayloadCheck | None
    ) -> None:
        self.schema: Schema = schema
        self._settings, self._values, self._check = settings, values, check
        self._columns: JsonPayloadColumnReader | None = None

    def value(self, payload: bytes) -> Any:
        """Return the value of a payload."""
        if self._check is not None:
            self._check.payload(payload)
        return self._values.payload(self.schema, payload)

    def values(self, payloads: Any) -> Any:
        """Return the values of payloads as a column."""
        if self._check is not None or needs_records(self.schema):
            return NotImplemented
        if self._columns is None:
            from hearth_registry.json_payload_column import JsonPayloadColumnReader

            self._columns = JsonPayloadColumnReader(self._settings, self.schema, self._values)
        return self._columns.values(payloads)
