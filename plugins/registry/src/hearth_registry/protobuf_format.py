"""Protobuf as a schema format of the registry converters."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hearth_api import DataError, Schema, Type, is_logical, needs_records
from hearth_registry import proto_known as known
from hearth_registry.proto_difference import differences
from hearth_registry.proto_file import ProtoFile, ProtoMessage
from hearth_registry.proto_parser import parse_proto
from hearth_registry.proto_schema_reader import ProtoSchemaReader
from hearth_registry.proto_schema_writer import ProtoSchemaWriter, full_name, root_message, root_wrapper
from hearth_registry.proto_text import proto_text, without_extensions
from hearth_registry.proto_value_reader import ProtoValueReader
from hearth_registry.proto_value_writer import ProtoValueWriter
from hearth_registry.protobuf_setting import ProtobufSettings
from hearth_registry.registry_setting import STRATEGIES
from hearth_registry.schema_format import (
    FormatSchema,
    Import,
    PayloadError,
    PayloadReader,
    PayloadWriter,
    SchemaFormat,
)
from hearth_registry.schema_text import PROTOBUF, SchemaText
from hearth_registry.schemaless_writer import SchemalessWriter

if TYPE_CHECKING:
    from hearth_registry.proto_column_reader import ProtoColumnReader
    from hearth_registry.proto_column_writer import ProtoColumnWriter


log = logging.getLogger(__name__)

_IGNORE_EXTENSIONS = "ignore_extensions"
_FIRST = (0,)
"""The indexes of the first message of a file."""


class ProtobufSchema(FormatSchema):
    """A Protobuf file, parsed on first use."""

    def __init__(self, text: SchemaText, references: Mapping[str, str], name: str | None = None) -> None:
        """Set the text, and the texts of imported files; `name` is the message if it is not the first one."""
        self.text = text
        self._references = references
        self._name = name

    @cached_property
    def file(self) -> ProtoFile:
        """Return the parsed file; raise `PayloadError` if it is invalid or an import is missing."""
        return loaded(self.text.text, self._references)

    @property
    def record_name(self) -> str | None:
        """Return the full name of the message."""
        return self._name or (self.file.messages[0].full_name if self.file.messages else None)

    def __eq__(self, other: object) -> bool:
        """Compare texts and references."""
        return isinstance(other, ProtobufSchema) and self.text == other.text

    def __hash__(self) -> int:
        """Return a hash of the text."""
        return hash(self.text)


def loaded(text: str, references: Mapping[str, str]) -> ProtoFile:
    """Parse a file and resolve its types with all direct and indirect imports."""
    files: dict[str, ProtoFile] = {}

    def load(path: str) -> None:
        if path in files:
            return
        imported = references.get(path)
        if imported is None:
            if path not in known.KNOWN:
                raise PayloadError(f"Protobuf schema imports {path!r}, which is not among its references")
            files[path] = known.KNOWN[path]
            return
        file = files[path] = parse_proto(imported)
        imports = [*file.imports, *file.public_imports]
        for each in imports:
            load(each)
        # An importing file may use the public imports of its imports; knowing more types does no harm.
        file.resolve([files[each] for each in files if each != path])

    root = parse_proto(text)
    for path in (*root.imports, *root.public_imports):
        load(path)
    return root.resolve(files.values())


class ProtobufFormat(SchemaFormat):
    """Protobuf files, and payloads of messages."""

    schema_type = PROTOBUF

    def __init__(self, settings: ProtobufSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._schemas = ProtoSchemaWriter(settings)
        if settings.schema_format not in (None, "", "default", _IGNORE_EXTENSIONS):
            log.warning("schema.format=%s has no effect: files are registered as text", settings.schema_format)

    def schema_of(self, schema: Schema | None) -> ProtobufSchema:
        """Return the file of a Connect schema; for data without a schema, which is never written, an empty one."""
        if schema is None:
            return ProtobufSchema(SchemaText(PROTOBUF, 'syntax = "proto3";\n'), {})
        file = self._schemas.file(schema)
        if self._settings.schema_format == _IGNORE_EXTENSIONS and self._settings.auto_register:
            file = without_extensions(file)
        return ProtobufSchema(SchemaText(PROTOBUF, proto_text(file)), {}, self._name_of(schema))

    def imports(self, schema: FormatSchema) -> tuple[Import, ...]:
        """Return the imported files, which are all well-known, unless well-known files are skipped."""
        assert isinstance(schema, ProtobufSchema)
        settings = self._settings
        if settings.skip_known_types:
            return ()
        is_qualified = settings.reference_strategy == STRATEGIES + "QualifiedReferenceSubjectNameStrategy"
        return tuple(
            Import(
                path,
                path.removesuffix(".proto").replace("/", ".") if is_qualified else path,
                ProtobufSchema(SchemaText(PROTOBUF, proto_text(known.registrable(path))), {}),
                settings.reference_lookup_only,
            )
            for path in schema.file.imports
        )

    def null_is_tombstone(self, schema: Schema | None) -> bool:
        """Return True: every null becomes a record without value."""
        return True

    def parse(self, text: SchemaText, references: Mapping[str, str]) -> ProtobufSchema:
        """Return a schema of the registry."""
        schema = ProtobufSchema(text, references)
        _ = schema.file
        return schema

    def writer(self, schema: Schema | None, target: FormatSchema) -> PayloadWriter:
        """Return a writer of values as the file's message with the schema's name."""
        if schema is None:
            return SchemalessWriter("Protobuf")
        assert isinstance(target, ProtobufSchema)
        return _Writer(self._settings, schema, target.file)

    def reader(
        self, written: FormatSchema, message_indexes: tuple[int, ...], wanted: FormatSchema | None, version: int | None
    ) -> PayloadReader:
        """Return a reader of a message, with the fields of the wanted file if given."""
        assert isinstance(written, ProtobufSchema)
        file, message = written.file, written.file.message_at(message_indexes)
        if isinstance(wanted, ProtobufSchema):
            indexes = wanted.file.indexes_of(message.full_name)
            if indexes is not None:
                file, message = wanted.file, wanted.file.message_at(indexes)
        return _Reader(self._settings, file, message, version)

    def incompatibilities(self, reader: FormatSchema, writer: FormatSchema) -> list[str]:
        """Return why `reader` cannot read data of `writer`."""
        assert isinstance(reader, ProtobufSchema)
        assert isinstance(writer, ProtobufSchema)
        return [] if reader == writer else differences(reader.file, writer.file)

    def _name_of(self, schema: Schema) -> str:
        return full_name(schema, self._settings) if schema.type is Type.STRUCT else root_wrapper(schema)


class _Writer(PayloadWriter):
    """Writes values of one schema."""

    def __init__(self, settings: ProtobufSettings, schema: Schema, file: ProtoFile) -> None:
        root = None if schema.type is Type.STRUCT else root_message(schema)
        name = full_name(schema, settings) if root is None else root.full_name
        indexes = file.indexes_of(name)
        if indexes is None and is_logical(schema):
            indexes = _FIRST  # another message, so what Java writes here is unreadable
        if indexes is None:
            raise DataError(f"Protobuf schema has no message {name}")
        message = file.message_at(indexes) if root is None else root
        self.message_indexes = indexes
        self._settings, self._schema, self._message = settings, schema, message
        self._write = ProtoValueWriter(settings).root(schema, self._message)
        self._columns: ProtoColumnWriter | None = None

    def payload(self, value: Any) -> bytes:
        """Return the payload of a value."""
        return self._write(value)

    def payloads(self, column: Any, prefix: bytes) -> Any:
        """Return the payloads of a column."""
        if self._columns is None:
            from hearth_registry.proto_column_writer import ProtoColumnWriter  # loads Arrow only for columns

            self._columns = ProtoColumnWriter(self._settings, self._schema, self._message)
        return self._columns.payloads(column, prefix)


class _Reader(PayloadReader):
    """Reads payloads of one message."""

    def __init__(
        self, settings: ProtobufSettings, file: ProtoFile, message: ProtoMessage, version: int | None
    ) -> None:
        schema = ProtoSchemaReader(file, settings).schema(message, version)
        self.schema: Schema = schema
        self._settings, self._file, self._message = settings, file, message
        self._read = ProtoValueReader(file, settings).root(schema, message)
        self._columns: ProtoColumnReader | None = None

    def value(self, payload: bytes) -> Any:
        """Return the value of a payload."""
        return self._read(payload)

    def values(self, payloads: Any) -> Any:
        """Return the values of payloads as a column."""
        if needs_records(self.schema):
            return NotImplemented
        if self._columns is None:
            from hearth_registry.proto_column_reader import ProtoColumnReader

            self._columns = ProtoColumnReader(self._file, self._settings, self.schema, self._message, self._read)
        return self._columns.values(payloads)
