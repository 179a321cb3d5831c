"""The string converter, which writes the result of Java's `toString()`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hearth_api import (
    CONVERTER_TYPE_CONFIG,
    OPTIONAL_STRING_SCHEMA,
    ConfigDef,
    ConverterType,
    Headers,
    Importance,
    Schema,
    SchemaAndValue,
    Settings,
    Type,
    Width,
    converter_config_def,
    is_logical,
    key,
)
from hearth_api.batch import BatchConverter, BatchHeaderConverter, ColumnRun, Declined
from hearth_api.batch import arrow as pa
from hearth_api.java import java_text
from hearth_converters.charset import charset

_KIND = converter_config_def().keys[CONVERTER_TYPE_CONFIG]
_AS_DIGITS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.BOOLEAN)
_WRITTEN = {Type.STRING: "BARE"} | {type_: type_.name for type_ in _AS_DIGITS}


@lru_cache
def _writer(kind: str) -> Any:
    from hearth_api.layout import RowTexts  # it loads Arrow

    return None if RowTexts is None else RowTexts(b"", (kind, b"", ()), b"")


class StringConverterSettings(Settings):
    """The keys of Kafka's StringConverter."""

    converter_type: str = key(_KIND.name, check=_KIND.validator, importance=_KIND.importance, doc=_KIND.doc)
    encoding: str | None = key(
        "converter.encoding", default="UTF-8", importance=Importance.HIGH,
        doc="The encoding of texts as bytes.", width=Width.MEDIUM, display_name="Encoding",
    )  # fmt: skip


class StringConverter(BatchConverter, BatchHeaderConverter):
    """Kafka's `org.apache.kafka.connect.storage.StringConverter`."""

    is_blind_to_names = True

    def version(self) -> str:
        """Return the version of the corresponding Kafka class."""
        return "4.3.1"

    def config(self) -> ConfigDef:
        """Return the converter's keys."""
        return StringConverterSettings.definition()

    def configure(self, configs: Mapping[str, Any], is_key: bool | None = None) -> None:
        """Apply the settings; a header converter has no `is_key`, its type is in the settings."""
        if is_key is not None:
            kind = ConverterType.KEY if is_key else ConverterType.VALUE
            configs = {**configs, CONVERTER_TYPE_CONFIG: str(kind)}
        encoding = StringConverterSettings(configs).encoding
        self._charset = charset("UTF-8" if encoding is None else encoding)

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the text of any value regardless of its schema; None stays None."""
        return None if value is None else self._charset.encode(java_text(value, schema))

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return the bytes as an optional string."""
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, None if data is None else self._charset.decode(data))

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return what `from_connect_data` returns."""
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return what `to_connect_data` returns."""
        return self.to_connect_data(topic, data)

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the texts of a column; nulls stay nulls, and a string column only changes its type."""
        if column.null_count == len(column):  # like the keys of most topics
            return pa.nulls(len(column), pa.binary())
        if self._charset.is_utf8 and schema is not None and not is_logical(schema):
            if schema.type is Type.STRING:
                return column.view("binary")
            if schema.type in _AS_DIGITS:
                return column.cast("string").view("binary")
        if self._charset.is_utf8 and schema is None:
            from hearth_converters.plain import bare_texts

            return bare_texts(column)
        return NotImplemented

    def row_writer(self, topic: str, schema: Schema | None) -> Any:
        """Return the writer of single values that are strings or integers."""
        kind = "NOTHING" if schema is None else _WRITTEN.get(schema.type)
        if kind is None or not self._charset.is_utf8 or (schema is not None and is_logical(schema)):
            return None
        return _writer(kind)

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun] | Declined:
        """Return a column of optional strings; valid UTF-8 is not copied."""
        if not self._charset.is_utf8:
            return NotImplemented
        try:
            return [ColumnRun(OPTIONAL_STRING_SCHEMA, data.cast("string"))]
        except ValueError:
            return NotImplemented  # a row is not UTF-8, so the plain form replaces its errors

    def from_connect_headers(self, topic: str, header_key: str, schema: Schema | None, column: Any) -> Any:
        """Return the result of `from_connect_batch`."""
        return self.from_connect_batch(topic, schema, column)

    def to_connect_headers(self, topic: str, header_key: str, data: Any) -> ColumnRun | Declined:
        """Return the result of `to_connect_batch`, which is one run."""
        runs = self.to_connect_batch(topic, data)
        return NotImplemented if runs is NotImplemented else runs[0]
