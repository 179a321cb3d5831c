"""Writes values as JSON text one at a time: the plain form, which the column form must match."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Mapping
from typing import Any

from hearth_api import DataError, Date, Decimal, Schema, Struct, Time, Timestamp, Type
from hearth_api.java import java_class
from hearth_json.literal import (
    base64_literal,
    decimal_literal,
    double_literal,
    float_literal,
    string_literal,
)
from hearth_json.setting import JsonConverterSettings

LIMITS = {Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: 1 << 31, Type.INT64: 1 << 63}
"""The integer types, and the smallest number above the range of each."""
_BYTES = (bytes, bytearray, memoryview)


class ValueWriter:
    """Writes values as JSON text by schema; without a schema, the value determines the type."""

    def __init__(self, settings: JsonConverterSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._logical: dict[str | None, Callable[[Schema, Any], str]] = {
            Decimal.LOGICAL_NAME: self._decimal,
            Date.LOGICAL_NAME: _date,
            Time.LOGICAL_NAME: _time,
            Timestamp.LOGICAL_NAME: _timestamp,
        }

    def text(self, schema: Schema | None, value: Any) -> str:
        """Return a value as JSON text; raise DataError if it does not fit the schema."""
        if value is None:
            return self.null(schema)
        if schema is None:
            return self._schemaless(value)
        if schema.name is not None and schema.name in self._logical:
            return self._logical[schema.name](schema, value)
        return self._by_type(schema, value)

    def null(self, schema: Schema | None) -> str:
        """Return the text of a null: the default or JSON null; raise DataError if neither is allowed."""
        if schema is None:
            return "null"
        if schema.default is not None and self._settings.replace_null_with_default:
            return self.text(schema, schema.default)
        if schema.optional:
            return "null"
        raise DataError("Conversion error: null value for field that is required and has no default value")

    def key(self, schema: Schema | None, value: Any) -> str:
        """Return a map key as the quoted name of a JSON member."""
        text = self.text(schema, value)
        return text if text.startswith('"') else string_literal(text)

    def _by_type(self, schema: Schema, value: Any) -> str:
        type_ = schema.type
        if type_ is Type.STRUCT:
            return self._struct(schema, value)
        if type_ is Type.ARRAY:
            return self._array(schema, schema.value_schema, value)
        if type_ is Type.MAP:
            return self._map(schema, value)
        if type_ in LIMITS:
            return _integer(schema, value)
        return _primitive(schema, value)

    def _struct(self, schema: Schema, value: Any) -> str:
        if not isinstance(value, Struct):
            raise _wrong_type(schema, value)
        if value.schema is not schema and value.schema != schema:
            raise DataError("Mismatching schema.")
        pairs = zip(schema.fields, value.raw_values())
        members = [f"{string_literal(field.name)}:{self.text(field.schema, item)}" for field, item in pairs]
        return f"{{{','.join(members)}}}"

    def _array(self, schema: Schema | None, items: Schema | None, value: Any) -> str:
        if not isinstance(value, (list, tuple)):
            raise _wrong_type(schema, value)
        return f"[{','.join([self.text(items, item) for item in value])}]"

    def _map(self, schema: Schema, value: Any) -> str:
        if not isinstance(value, Mapping):
            raise _wrong_type(schema, value)
        keys, items = schema.key_schema, schema.value_schema
        is_object = keys is not None and keys.type is Type.STRING
        return self._object(keys, items, value) if is_object else self._pairs(keys, items, value)

    def _object(self, keys: Schema | None, items: Schema | None, value: Mapping[Any, Any]) -> str:
        # Two keys may get the same name (a null and its default); the last value wins at the position of the first.
        members = {self.key(keys, key): self.text(items, item) for key, item in value.items()}
        return f"{{{','.join([f'{name}:{text}' for name, text in members.items()])}}}"

    def _pairs(self, keys: Schema | None, items: Schema | None, value: Mapping[Any, Any]) -> str:
        pairs = [f"[{self.text(keys, key)},{self.text(items, item)}]" for key, item in value.items()]
        return f"[{','.join(pairs)}]"

    def _schemaless(self, value: Any) -> str:
        if isinstance(value, str):
            return string_literal(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int) and -LIMITS[Type.INT64] <= value < LIMITS[Type.INT64]:
            return str(value)
        if isinstance(value, float):
            return double_literal(value)
        if isinstance(value, _BYTES):
            return base64_literal(bytes(value))
        return self._schemaless_container(value)

    def _schemaless_container(self, value: Any) -> str:
        if isinstance(value, (list, tuple)):
            return self._array(None, None, value)
        if isinstance(value, Mapping):
            is_object = all(isinstance(key, str) for key in value)
            return self._object(None, None, value) if is_object else self._pairs(None, None, value)
        if isinstance(value, Struct):
            raise DataError("Mismatching schema.")
        raise DataError(f"Java class class {java_class(value)} does not have corresponding schema type.")

    def _decimal(self, schema: Schema, value: Any) -> str:
        if not isinstance(value, decimal.Decimal):
            raise DataError(f"Invalid type for Decimal, expected BigDecimal but was class {java_class(value, schema)}")
        if self._settings.is_numeric:
            return decimal_literal(value)
        return base64_literal(Decimal.from_logical(schema, value))


def _date(schema: Schema, value: Any) -> str:
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise DataError(f"Invalid type for Date, expected Date but was class {java_class(value, schema)}")
    return str(Date.from_logical(schema, value))


def _time(schema: Schema, value: Any) -> str:
    if not isinstance(value, dt.time):
        raise DataError(f"Invalid type for Time, expected Date but was class {java_class(value, schema)}")
    return str(Time.from_logical(schema, value))


def _timestamp(schema: Schema, value: Any) -> str:
    if not isinstance(value, dt.datetime):
        raise DataError(f"Invalid type for Timestamp, expected Date but was class {java_class(value, schema)}")
    return str(Timestamp.from_logical(schema, value))


def _integer(schema: Schema, value: Any) -> str:
    limit = LIMITS[schema.type]
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong_type(schema, value)
    if not -limit <= value < limit:
        raise DataError(f"Invalid type for {schema.type}: {value} is out of range")
    return str(value)


def _primitive(schema: Schema, value: Any) -> str:
    type_ = schema.type
    if type_ is Type.STRING and isinstance(value, str):
        return string_literal(value)
    if type_ is Type.BOOLEAN and isinstance(value, bool):
        return "true" if value else "false"
    if type_ is Type.FLOAT64 and isinstance(value, float):
        return double_literal(value)
    if type_ is Type.FLOAT32 and isinstance(value, float):
        return float_literal(value)
    if type_ is Type.BYTES:
        if isinstance(value, _BYTES):
            return base64_literal(bytes(value))
        raise DataError(f"Invalid type for bytes type: class {java_class(value)}")
    raise _wrong_type(schema, value)


def _wrong_type(schema: Schema | None, value: object) -> DataError:
    name = "unknown schema" if schema is None else str(schema.type)
    return DataError(f"Invalid type for {name}: class {java_class(value, schema)}")
