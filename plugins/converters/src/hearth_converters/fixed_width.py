"""Converters for numbers and booleans, as big-endian bytes of a fixed width."""

from __future__ import annotations

import math
import struct
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from hearth_api import (
    CONVERTER_TYPE_CONFIG,
    OPTIONAL_BOOLEAN_SCHEMA,
    OPTIONAL_FLOAT32_SCHEMA,
    OPTIONAL_FLOAT64_SCHEMA,
    OPTIONAL_INT16_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    ConfigDef,
    ConverterType,
    DataError,
    HeaderConverter,
    Headers,
    Schema,
    SchemaAndValue,
    Type,
    converter_config_def,
    is_logical,
)
from hearth_api.batch import BatchConverter, ColumnRun, Declined
from hearth_api.java import java_class

_SIZED = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


class FixedWidthConverter(BatchConverter, HeaderConverter):
    """Base of the number and boolean converters: nulls stay nulls, and read values have an optional schema."""

    schema: ClassVar[Schema]
    layout: ClassVar[struct.Struct]
    name: ClassVar[str]
    """The name of the type in Kafka's messages."""
    deserializer: ClassVar[str]
    """The name of the deserializer in Kafka's messages."""

    def version(self) -> str:
        """Return the version of the corresponding Kafka class."""
        return "4.3.1"

    def config(self) -> ConfigDef:
        """Return the key that all converters share."""
        return converter_config_def()

    def configure(self, configs: Mapping[str, Any], is_key: bool | None = None) -> None:
        """Validate the settings; a header converter has no `is_key`, its type is in the settings."""
        if is_key is not None:
            kind = ConverterType.KEY if is_key else ConverterType.VALUE
            configs = {**configs, CONVERTER_TYPE_CONFIG: str(kind)}
        self.config().parse(configs)

    @abstractmethod
    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the bytes of a value; raise DataError for a value of another Java class."""

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return the value of bytes; raise DataError for another length."""
        if data is None:
            return SchemaAndValue(self.schema, None)
        try:
            return SchemaAndValue(self.schema, self._unpack(data))
        except ValueError as error:
            raise DataError(f"Failed to deserialize {self.name}: ") from error

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return what `from_connect_data` returns."""
        return self.from_connect_data(topic, schema, value)

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return what `to_connect_data` returns."""
        return self.to_connect_data(topic, data)

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the bytes of a column of the converter's type."""
        if schema is None or schema.type is not self.schema.type or is_logical(schema):
            return NotImplemented
        from hearth_converters.big_endian import to_big_endian  # loads Arrow only for columns

        return to_big_endian(column)

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun] | Declined:
        """Return the values of a column of bytes; the plain form finds the invalid rows."""
        from hearth_converters.big_endian import from_big_endian

        column = from_big_endian(data, self.schema)
        return NotImplemented if column is NotImplemented else [ColumnRun(self.schema, column)]

    def _unpack(self, data: bytes) -> Any:
        if len(data) != self.layout.size:
            raise ValueError(f"Size of data received by {self.deserializer} is not {self.layout.size}")
        return self.layout.unpack(data)[0]


class NumberConverter(FixedWidthConverter):
    """Base of the number converters.

    A number whose schema has another size is refused, since Java has another class for it. Python numbers have no
    size, so without a schema a number is written if it survives the round trip.
    """

    kind: ClassVar[type]

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the bytes of a number; raise DataError for any other value."""
        if value is None:
            return None
        data = self._packed(schema, value)
        if data is None:
            raise DataError(f"Failed to serialize to {self.name} (was class {java_class(value, schema)}): ")
        return data

    def _packed(self, schema: Schema | None, value: Any) -> bytes | None:
        if not isinstance(value, self.kind) or isinstance(value, bool):
            return None
        is_sized = schema is not None and schema.type in _SIZED
        if is_sized and schema is not None and schema.type is not self.schema.type:
            return None
        if value != value:
            return self.layout.pack(math.nan)  # Java writes one canonical NaN
        try:
            data = self.layout.pack(value)
        except (struct.error, OverflowError):
            return None
        return data if is_sized or self.layout.unpack(data)[0] == value else None


class ShortConverter(NumberConverter):
    """Kafka's `org.apache.kafka.connect.converters.ShortConverter`."""

    kind, name, deserializer = int, "short", "ShortDeserializer"
    schema, layout = OPTIONAL_INT16_SCHEMA, struct.Struct(">h")


class IntegerConverter(NumberConverter):
    """Kafka's `org.apache.kafka.connect.converters.IntegerConverter`."""

    kind, name, deserializer = int, "integer", "IntegerDeserializer"
    schema, layout = OPTIONAL_INT32_SCHEMA, struct.Struct(">i")


class LongConverter(NumberConverter):
    """Kafka's `org.apache.kafka.connect.converters.LongConverter`."""

    kind, name, deserializer = int, "long", "LongDeserializer"
    schema, layout = OPTIONAL_INT64_SCHEMA, struct.Struct(">q")


class FloatConverter(NumberConverter):
    """Kafka's `org.apache.kafka.connect.converters.FloatConverter`."""

    kind, name, deserializer = float, "float", "Deserializer"
    schema, layout = OPTIONAL_FLOAT32_SCHEMA, struct.Struct(">f")


class DoubleConverter(NumberConverter):
    """Kafka's `org.apache.kafka.connect.converters.DoubleConverter`."""

    kind, name, deserializer = float, "double", "Deserializer"
    schema, layout = OPTIONAL_FLOAT64_SCHEMA, struct.Struct(">d")


class BooleanConverter(FixedWidthConverter):
    """Kafka's `org.apache.kafka.connect.converters.BooleanConverter`, which unlike the others checks the schema."""

    name, deserializer = "boolean", "BooleanDeserializer"
    schema, layout = OPTIONAL_BOOLEAN_SCHEMA, struct.Struct(">b")

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the byte of a boolean; raise DataError for any other value or schema."""
        if schema is not None and schema.type is not Type.BOOLEAN:
            raise DataError(f"Invalid schema type for BooleanConverter: {schema.type}")
        if value is None:
            return None
        if not isinstance(value, bool):
            found = java_class(value, schema)
            raise DataError(f"BooleanConverter is not compatible with objects of type class {found}")
        return self.layout.pack(value)

    def _unpack(self, data: bytes) -> bool:
        number = super()._unpack(data)
        if number not in (0, 1):
            raise ValueError(f"Unexpected byte received by BooleanDeserializer: {number}")
        return bool(number)
