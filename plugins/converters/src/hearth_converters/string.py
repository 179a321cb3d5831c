"""The converter of texts: writes what Java's `toString()` gives, reads texts."""

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
        doc="Name of the encoding between texts and bytes.", width=Width.MEDIUM, display_name="Encoding",
    )  # fmt: skip


class StringConverter(BatchConverter, BatchHeaderConverter):
    """Kafka's `org.apache.kafka.connect.storage.StringConverter`."""

    is_blind_to_names = True

    def version(self) -> str:
        """Return the version of the Kafka class this one stands for."""
        return "4.3.1"

    def config(self) -> ConfigDef:
        """Return the keys of the converter."""
        return StringConverterSettings.definition()

    def configure(self, configs: Mapping[str, Any], is_key: bool | None = None) -> None:
        """Take the settings; as a header converter there is no `is_key`, and the type is in the settings."""
        if is_key is not None:
            kind = ConverterType.KEY if is_key else ConverterType.VALUE
            configs = {**configs, CONVERTER_TYPE_CONFIG: str(kind)}
        encoding = StringConverterSettings(configs).encoding
        self._charset = charset("UTF-8" if encoding is None else encoding)

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the text of any value, whatever the schema says; None stays None."""
        return None if value is None else self._charset.encode(java_text(value, schema))

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return the bytes as an optional text."""
        return SchemaAndValue(OPTIONAL_STRING_SCHEMA, None if data is None else self._charset.decode(data))

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return what `from_connect_data` returns."""
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return what `to_connect_data` returns."""
        return self.to_connect_data(topic, data)

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the texts of a column; a column of texts only changes its type, and nulls stay nulls."""
        if column.null_count == len(column):  # as the keys of most topics
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
        """Return what writes the texts of values that are texts or digits one by one."""
        kind = "NOTHING" if schema is None else _WRITTEN.get(schema.type)
        if kind is None or not self._charset.is_utf8 or (schema is not None and is_logical(schema)):
            return None
        return _writer(kind)

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun] | Declined:
        """Return a column of optional texts; bytes that are UTF-8 are not copied."""
        if not self._charset.is_utf8:
            return NotImplemented
        try:
            return [ColumnRun(OPTIONAL_STRING_SCHEMA, data.cast("string"))]
        except ValueError:
            return NotImplemented  # some row is not UTF-8, and gets marks in the places of its errors

    def from_connect_headers(self, topic: str, header_key: str, schema: Schema | None, column: Any) -> Any:
        """Return what `from_connect_batch` returns."""
        return self.from_connect_batch(topic, schema, column)

    def to_connect_headers(self, topic: str, header_key: str, data: Any) -> ColumnRun | Declined:
        """Return what `to_connect_batch` returns, which is one run."""
        runs = self.to_connect_batch(topic, data)
        return NotImplemented if runs is NotImplemented else runs[0]
