"""The converter that passes bytes through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth_api import (
    OPTIONAL_BYTES_SCHEMA,
    ConfigDef,
    DataError,
    HeaderConverter,
    Headers,
    Schema,
    SchemaAndValue,
    Type,
    converter_config_def,
    is_logical,
)
from hearth_api.batch import BatchConverter, ColumnRun
from hearth_api.java import java_class


class ByteArrayConverter(BatchConverter, HeaderConverter):
    """Kafka's `org.apache.kafka.connect.converters.ByteArrayConverter`."""

    def version(self) -> str:
        """Return the version of the corresponding Kafka class."""
        return "4.3.1"

    def config(self) -> ConfigDef:
        """Return the key that all converters share."""
        return converter_config_def()

    def configure(self, configs: Mapping[str, Any], is_key: bool | None = None) -> None:
        """Do nothing: there are no settings."""

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return bytes unchanged; raise DataError for any other value."""
        if schema is not None and schema.type is not Type.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type}")
        if value is None or isinstance(value, bytes):
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        found = java_class(value, schema)
        raise DataError(f"ByteArrayConverter is not compatible with objects of type class {found}")

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return the bytes as optional bytes."""
        return SchemaAndValue(OPTIONAL_BYTES_SCHEMA, data)

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return what `from_connect_data` returns."""
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return what `to_connect_data` returns."""
        return self.to_connect_data(topic, data)

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the column itself if it holds bytes."""
        holds_bytes = schema is not None and schema.type is Type.BYTES and not is_logical(schema)
        return column if holds_bytes else NotImplemented

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun]:
        """Return the data itself."""
        return [ColumnRun(OPTIONAL_BYTES_SCHEMA, data)]
