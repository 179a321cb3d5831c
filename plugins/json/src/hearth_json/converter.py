"""The converter: settings, caches, envelopes, and the dispatch to the plain form and the column form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hearth_api import (
    CONVERTER_TYPE_CONFIG,
    ConfigDef,
    ConverterType,
    DataError,
    HeaderConverter,
    Headers,
    Schema,
    SchemaAndValue,
)
from hearth_api.batch import BatchConverter, ColumnRun, PartlyFailed
from hearth_json.depth import NOT_WRITTEN, is_too_deep, too_deep
from hearth_json.schema_reader import SchemaReader
from hearth_json.schema_writer import SchemaWriter
from hearth_json.setting import JsonConverterSettings
from hearth_json.tree import MALFORMED, read_tree, tree_or_error
from hearth_json.value_reader import ValueReader
from hearth_json.value_writer import ValueWriter

if TYPE_CHECKING:
    from hearth_json.column_writer import ColumnWriter
    from hearth_json.envelope import BatchReader

_NO_ENVELOPE = (
    'JsonConverter with schemas.enable requires "schema" and "payload" fields and may not contain additional fields.'
    " If you are trying to deserialize plain JSON data, set schemas.enable=false in your converter configuration."
)
_NO_SCHEMA = "Failed to parse schema in converter config due to serialization error: "


class JsonConverter(BatchConverter, HeaderConverter):
    """Kafka's `org.apache.kafka.connect.json.JsonConverter`."""

    _schema: Schema | None = None

    def version(self) -> str:
        """Return the version of the corresponding Kafka class."""
        return "4.3.1"

    def config(self) -> ConfigDef:
        """Return the converter's keys."""
        return JsonConverterSettings.definition()

    def configure(self, configs: Mapping[str, Any], is_key: bool | None = None) -> None:
        """Apply the settings; a header converter has no `is_key`, its type is in the settings."""
        if is_key is not None:
            kind = ConverterType.KEY if is_key else ConverterType.VALUE
            configs = {**configs, CONVERTER_TYPE_CONFIG: str(kind)}
        settings = JsonConverterSettings(configs)
        self._settings = settings
        self._values = ValueWriter(settings)
        self._schemas = SchemaWriter(self._values, settings.schemas_cache_size)
        self._value_reader = ValueReader(settings)
        self._schema_reader = SchemaReader(self._value_reader)
        self._schema = self._fixed_schema(settings.schema_content)
        self._column_writer: ColumnWriter | None = None
        self._batch_reader: BatchReader | None = None

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the JSON of a value, in an envelope if schemas are enabled; None without schema and value."""
        if schema is None and value is None:
            return None
        try:
            text = self._values.text(schema, value)
            if self._settings.schemas_enable:
                text = f'{{"schema":{self._schemas.text(schema)},"payload":{text}}}'
        except RecursionError as error:
            raise DataError(NOT_WRITTEN) from error
        if is_too_deep(text):
            raise DataError(NOT_WRITTEN) from too_deep("Write")
        return text.encode()

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return the schema and value of JSON bytes."""
        if data is None:
            return SchemaAndValue(None, None)
        try:
            return self._read(read_tree(data))
        except RecursionError as error:
            raise DataError(MALFORMED) from error

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the result of `from_connect_data`."""
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return the result of `to_connect_data`."""
        return self.to_connect_data(topic, data)

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the JSON of each value of a column."""
        writer = self._columns()
        try:
            messages = writer.messages(schema, column)
        except RecursionError as error:
            raise DataError(NOT_WRITTEN) from error
        writer.refuse_too_deep(schema, messages)
        return messages

    def _columns(self) -> ColumnWriter:
        if self._column_writer is None:
            from hearth_json.column_writer import ColumnWriter  # loads Arrow only for columns

            self._column_writer = ColumnWriter(self._settings, self._values, self._schemas)
        return self._column_writer

    def row_writer(self, topic: str, schema: Schema | None) -> Any:
        """Return the writer of single values of a schema, None if only columns are supported."""
        return self._columns().row_writer(schema)

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun] | PartlyFailed:
        """Return the values of a column of JSON, one run for each schema."""
        if self._batch_reader is None:
            from hearth_json.envelope import BatchReader

            self._batch_reader = BatchReader(
                self._settings, self._schema_reader, self._value_reader, self._schema, self._plain_form
            )
        try:
            return self._batch_reader.runs(data)
        except RecursionError as error:
            raise DataError(MALFORMED) from error

    def _plain_form(self, data: bytes) -> SchemaAndValue | DataError:
        """Return schema and value, or the error for bytes that are not JSON; raise any other error."""
        try:
            tree = tree_or_error(data)
            return tree if isinstance(tree, DataError) else self._read(tree)
        except RecursionError as error:
            raise DataError(MALFORMED) from error

    def close(self) -> None:
        """Do nothing: there are no resources."""

    def _read(self, tree: Any) -> SchemaAndValue:
        if not self._settings.schemas_enable:
            return SchemaAndValue(None, self._value_reader.value(None, tree))
        if self._schema is not None:
            return SchemaAndValue(self._schema, self._value_reader.value(self._schema, tree))
        if not isinstance(tree, dict) or tree.keys() != {"schema", "payload"}:
            raise DataError(_NO_ENVELOPE)
        schema = self._schema_reader.schema(tree["schema"])
        return SchemaAndValue(schema, self._value_reader.value(schema, tree["payload"]))

    def _fixed_schema(self, content: str | None) -> Schema | None:
        if not content:
            return None
        try:
            tree = read_tree(content.encode())
        except DataError as error:
            raise DataError(_NO_SCHEMA) from error
        return self._schema_reader.schema(tree)
