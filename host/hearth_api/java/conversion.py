"""Conversions between Connect types, by Kafka Connect's rules."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal as PythonDecimal
from typing import Any

from hearth_api.errors import DataError
from hearth_api.java.scalar import (
    as_long,
    cannot_convert,
    convert_to_float32,
    convert_to_float64,
    convert_to_int8,
    convert_to_int16,
    convert_to_int32,
    convert_to_int64,
    date_of,
    null_error,
    time_of,
    timestamp_of,
)
from hearth_api.java.temporal import temporal_text
from hearth_api.java.values import parse_string
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.number import parse_decimal
from hearth_api.schema import Schema, Type
from hearth_api.struct import Struct
from hearth_api.text import double_text, number_text


def convert_to(to_schema: Schema, from_schema: Schema | None, value: Any) -> Any:
    """Return the value converted to another schema; a conversion that Kafka Connect lacks raises a DataError."""
    if value is None:
        if to_schema.optional:
            return None
        raise null_error()
    if to_schema.name == Decimal.LOGICAL_NAME and to_schema.type is Type.BYTES:
        return _decimal(to_schema, value)
    if to_schema.type is Type.BYTES:
        return _bytes(to_schema, value)
    return _CONVERSIONS.get((to_schema.type, to_schema.name), _CONVERSIONS[to_schema.type, None])(from_schema, value)


def convert_to_boolean(schema: Schema | None, value: Any) -> bool | None:
    """Return the value as BOOLEAN: `true` and `false` as text; numbers are true unless 0."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        parsed = _parsed(value)
        if isinstance(parsed, bool):
            return parsed
    return as_long(value, schema) != 0


def convert_to_string(schema: Schema | None, value: Any) -> str | None:
    """Return the value as text for `parse_string`; `schema` distinguishes 32-bit from 64-bit floats."""
    return None if value is None else _text(schema, value, False)


def convert_to_list(schema: Schema | None, value: Any) -> list[Any]:
    """Return the value as ARRAY; a text is parsed."""
    return _container(value, (list, tuple), "ARRAY")  # type: ignore[no-any-return]


def convert_to_map(schema: Schema | None, value: Any) -> dict[Any, Any]:
    """Return the value as MAP; a text is parsed."""
    return _container(value, (dict,), "MAP")  # type: ignore[no-any-return]


def convert_to_struct(schema: Schema | None, value: Any) -> Struct:
    """Return the value, which must already be a Struct."""
    if value is None:
        raise null_error()
    if isinstance(value, Struct):
        return value
    raise cannot_convert(value, "Schema{STRUCT}")


def convert_to_date(schema: Schema | None, value: Any) -> dt.date:
    """Return the value as Date: the day of a Timestamp, or a number of days."""
    return date_of(schema, _temporal(value))


def convert_to_time(schema: Schema | None, value: Any) -> dt.time:
    """Return the value as Time: the UTC time of day of a Timestamp, or a number of milliseconds."""
    return time_of(schema, _temporal(value))


def convert_to_timestamp(schema: Schema | None, value: Any) -> dt.datetime:
    """Return the value as Timestamp: a Date at midnight UTC, or a number of milliseconds."""
    return timestamp_of(schema, _temporal(value))


def convert_to_decimal(schema: Schema | None, value: Any, scale: int) -> PythonDecimal:
    """Return the value as decimal; bytes use the given scale, other values keep their own."""
    if value is None:
        raise null_error()
    return _decimal(Decimal.schema(scale), value)


def _decimal(schema: Schema, value: Any) -> PythonDecimal:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Decimal.to_logical(schema, bytes(value))
    if isinstance(value, PythonDecimal):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Java's decimals have no negative zero.
        return PythonDecimal(double_text(float(value) or 0.0))
    if isinstance(value, str) and (number := parse_decimal(value)) is not None:
        return number
    raise cannot_convert(value, schema)


def _bytes(schema: Schema, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, PythonDecimal):
        return Decimal.from_logical(schema, value)
    raise cannot_convert(value, schema)


def _container(value: Any, kinds: tuple[type, ...], target: str) -> Any:
    if value is None:
        raise null_error()
    parsed = _parsed(value) if isinstance(value, str) else value
    if isinstance(parsed, kinds):
        return parsed
    raise cannot_convert(parsed, f"Schema{{{target}}}")


def _temporal(value: Any) -> Any:
    if value is None:
        raise null_error()
    return _parsed(value) if isinstance(value, str) else value


def _parsed(text: str) -> Any:
    return parse_string(text).value


def _text(schema: Schema | None, value: Any, embedded: bool) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value) if embedded else value
    if isinstance(value, float):
        return number_text(value, schema)
    if isinstance(value, (int, PythonDecimal)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        encoded = base64.b64encode(value).decode()
        return f'"{encoded}"' if embedded else encoded
    if isinstance(value, (dt.date, dt.time)):
        return temporal_text(value)
    return _container_text(schema, value)


def _container_text(schema: Schema | None, value: Any) -> str:
    if isinstance(value, (list, tuple)):
        inner = schema.value_schema if schema is not None and schema.type is Type.ARRAY else None
        return f"[{','.join(_text(inner, item, True) for item in value)}]"
    if isinstance(value, Mapping):
        is_map = schema is not None and schema.type is Type.MAP
        keys = schema.key_schema if schema is not None and is_map else None
        items = schema.value_schema if schema is not None and is_map else None
        pairs = (f"{_text(keys, key, True)}:{_text(items, item, True)}" for key, item in value.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, Struct):
        fields = value.schema.fields
        parts = (f"{_quoted(field.name)}:{_text(field.schema, value.get(field), True)}" for field in fields)
        return f"{{{','.join(parts)}}}"
    raise DataError(f"Failed to serialize unexpected value type {type(value).__qualname__}: {value}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_CONVERSIONS: dict[tuple[Type, str | None], Callable[[Schema | None, Any], Any]] = {
    (Type.STRING, None): convert_to_string,
    (Type.BOOLEAN, None): convert_to_boolean,
    (Type.INT8, None): convert_to_int8,
    (Type.INT16, None): convert_to_int16,
    (Type.INT32, None): convert_to_int32,
    (Type.INT32, Date.LOGICAL_NAME): convert_to_date,
    (Type.INT32, Time.LOGICAL_NAME): convert_to_time,
    (Type.INT64, None): convert_to_int64,
    (Type.INT64, Timestamp.LOGICAL_NAME): convert_to_timestamp,
    (Type.FLOAT32, None): convert_to_float32,
    (Type.FLOAT64, None): convert_to_float64,
    (Type.ARRAY, None): convert_to_list,
    (Type.MAP, None): convert_to_map,
    (Type.STRUCT, None): convert_to_struct,
}
