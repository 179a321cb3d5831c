"""The header converter that infers the type from the text."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from hearth_api import BYTES_SCHEMA, STRING_SCHEMA, ConfigDef, ConnectError, Schema, SchemaAndValue, Type, is_logical
from hearth_api.batch import BatchHeaderConverter, ColumnRun, Declined, HeaderColumns, parse_headers
from hearth_api.batch import arrow as pa
from hearth_api.java import convert_to_string, parse_string
from hearth_converters.charset import charset

log = logging.getLogger(__name__)
_UTF8 = charset("UTF-8")
_UNREADABLE = (ConnectError, ValueError, ArithmeticError, RecursionError)
_AS_THEY_ARE = (Type.STRING, Type.INT8, Type.INT16, Type.INT32, Type.INT64)


class SimpleHeaderConverter(BatchHeaderConverter):
    """Kafka's `org.apache.kafka.connect.storage.SimpleHeaderConverter`."""

    is_blind_to_names = True
    reads_any_bytes = True

    def version(self) -> str:
        """Return the version of the corresponding Kafka class."""
        return "4.3.1"

    def config(self) -> ConfigDef:
        """Return a definition without keys."""
        return ConfigDef()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Do nothing: there are no settings."""

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the value's text in UTF-8; None stays None."""
        text = convert_to_string(schema, value)
        return None if text is None else _UTF8.encode(text)

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return the value that the text denotes: the narrowest number, a boolean, an array, a map, or a string.

        Text that the parser fails on is returned as bytes, with a warning.
        """
        if data is None:
            return SchemaAndValue(None, None)
        try:
            return parse_string(_UTF8.decode(data))
        except _UNREADABLE as error:
            log.warning("header %r on topic %r is returned as bytes: %s", header_key, topic, error)
            return SchemaAndValue(BYTES_SCHEMA, data)

    def from_connect_headers(self, topic: str, header_key: str, schema: Schema | None, column: Any) -> Any:
        """Return strings unchanged and integers as digits."""
        if schema is None or schema.type not in _AS_THEY_ARE or is_logical(schema):
            return NotImplemented
        return column.cast("string").view("binary")

    def to_connect_headers(self, topic: str, header_key: str, data: Any) -> ColumnRun | HeaderColumns | Declined:
        """Return a column of strings if every text denotes a string, which mostly shows in the first letters."""
        from hearth_converters.plain import are_words

        try:
            column = data.cast("string")
        except ValueError:
            column = pa.array([None if cell is None else _UTF8.decode(cell) for cell in data.to_pylist()], pa.string())
        if are_words(column):
            return ColumnRun(STRING_SCHEMA, column)
        try:
            return parse_headers(column)
        except _UNREADABLE:
            return NotImplemented  # `to_connect_header` logs the warning
