"""Conversions between Connect types, with Kafka Connect's rules for what turns into what."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal as PythonDecimal
from typing import Any

from hearth_api.errors import DataError
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.number import narrow, parse_decimal, to_long, wrap
from hearth_api.schema import Schema, Type
from hearth_api.struct import Struct
from hearth_api.temporal import temporal_text
from hearth_api.text import double_text, number_text

_EPOCH_DAY = dt.date(1970, 1, 1)


def convert_to(to_schema: Schema, from_schema: Schema | None, value: Any) -> Any:
    """Return the value as one of another schema; a conversion that Kafka Connect lacks raises a DataError."""
    if value is None:
        if to_schema.optional:
            return None
        raise _null_error()
    if to_schema.name == Decimal.LOGICAL_NAME and to_schema.type is Type.BYTES:
        return _decimal(to_schema, value)
    if to_schema.type is Type.BYTES:
        return _bytes(to_schema, value)
    return _CONVERSIONS.get((to_schema.type, to_schema.name), _CONVERSIONS[to_schema.type, None])(from_schema, value)


def convert_to_boolean(schema: Schema | None, value: Any) -> bool | None:
    """Return the value as BOOLEAN: `true` and `false` as text, or whether a number is not 0."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        parsed = _parsed(value)
        if isinstance(parsed, bool):
            return parsed
    return as_long(value, schema) != 0


def convert_to_int8(schema: Schema | None, value: Any) -> int | None:
    """Return the value as INT8, cut to 8 bits."""
    return None if value is None else wrap(as_long(value, schema), 8)


def convert_to_int16(schema: Schema | None, value: Any) -> int | None:
    """Return the value as INT16, cut to 16 bits."""
    return None if value is None else wrap(as_long(value, schema), 16)


def convert_to_int32(schema: Schema | None, value: Any) -> int | None:
    """Return the value as INT32, cut to 32 bits."""
    return None if value is None else wrap(as_long(value, schema), 32)


def convert_to_int64(schema: Schema | None, value: Any) -> int | None:
    """Return the value as INT64."""
    return None if value is None else as_long(value, schema)


def convert_to_float32(schema: Schema | None, value: Any) -> float | None:
    """Return the value as FLOAT32."""
    return None if value is None else narrow(as_double(value, schema))


def convert_to_float64(schema: Schema | None, value: Any) -> float | None:
    """Return the value as FLOAT64."""
    return None if value is None else as_double(value, schema)


def convert_to_string(schema: Schema | None, value: Any) -> str | None:
    """Return the value as text for `parse_string`; `schema` tells 32-bit floats from 64-bit ones."""
    return None if value is None else _text(schema, value, False)


def convert_to_list(schema: Schema | None, value: Any) -> list[Any]:
    """Return the value as ARRAY; a text is parsed."""
    return _container(value, (list, tuple), "ARRAY")  # type: ignore[no-any-return]


def convert_to_map(schema: Schema | None, value: Any) -> dict[Any, Any]:
    """Return the value as MAP; a text is parsed."""
    return _container(value, (dict,), "MAP")  # type: ignore[no-any-return]


def convert_to_struct(schema: Schema | None, value: Any) -> Struct:
    """Return the value, which must be a Struct already."""
    if value is None:
        raise _null_error()
    if isinstance(value, Struct):
        return value
    raise _cannot(value, "Schema{STRUCT}")


def convert_to_date(schema: Schema | None, value: Any) -> dt.date:
    """Return the value as Date; of a Timestamp only the day is left, a number counts days."""
    value = _temporal(value)
    kind = None if schema is None else schema.name
    if isinstance(value, dt.datetime) and kind in (None, Date.LOGICAL_NAME, Timestamp.LOGICAL_NAME):
        if schema is None or kind is not None:
            days = int(Timestamp.from_logical(Timestamp.SCHEMA, value) / 86_400_000)  # towards 1970, as in Java
            return Date.to_logical(Date.SCHEMA, days)
    elif isinstance(value, dt.date) and (schema is None or kind == Date.LOGICAL_NAME):
        return value
    elif isinstance(value, dt.time) and (schema is None or kind == Date.LOGICAL_NAME):
        return _EPOCH_DAY
    return Date.to_logical(Date.SCHEMA, wrap(as_long(value, schema), 32))


def convert_to_time(schema: Schema | None, value: Any) -> dt.time:
    """Return the value as Time; of a Timestamp the time of day in UTC, a number counts milliseconds."""
    value = _temporal(value)
    kind = None if schema is None else schema.name
    if isinstance(value, dt.datetime) and (schema is None or kind in (Time.LOGICAL_NAME, Timestamp.LOGICAL_NAME)):
        return value.astimezone(dt.timezone.utc).time()
    if isinstance(value, dt.time) and (schema is None or kind == Time.LOGICAL_NAME):
        return value
    if isinstance(value, dt.date) and (schema is None or kind == Time.LOGICAL_NAME):
        return dt.time()
    return Time.to_logical(Time.SCHEMA, wrap(as_long(value, schema), 32))


def convert_to_timestamp(schema: Schema | None, value: Any) -> dt.datetime:
    """Return the value as Timestamp; a Date becomes midnight in UTC, a number counts milliseconds."""
    value = _temporal(value)
    named = schema is not None and schema.name in (
        Date.LOGICAL_NAME,
        Time.LOGICAL_NAME,
        Timestamp.LOGICAL_NAME,
    )
    if isinstance(value, (dt.date, dt.time)) and (schema is None or named):
        return _moment(value)
    return Timestamp.to_logical(Timestamp.SCHEMA, as_long(value, schema))


def convert_to_decimal(schema: Schema | None, value: Any, scale: int) -> PythonDecimal:
    """Return the value as decimal; only bytes take the scale, anything else keeps its own."""
    if value is None:
        raise _null_error()
    return _decimal(Decimal.schema(scale), value)


def as_long(value: Any, from_schema: Schema | None) -> int:
    """Return a number, or a text that is one, as a 64-bit integer, fractions cut off."""
    if isinstance(value, (int, float, PythonDecimal)) and not isinstance(value, bool):
        return to_long(value)
    if isinstance(value, str) and (number := parse_decimal(value)) is not None:
        return to_long(number)
    if from_schema is None:
        raise _cannot(value, "a number")
    if isinstance(value, (dt.date, dt.time)) and from_schema.name in _FROM_LOGICAL:
        return _FROM_LOGICAL[from_schema.name](from_schema, value)
    raise _cannot(value, from_schema)


def as_double(value: Any, schema: Schema | None) -> float:
    """Return a number, or a text that is one, as a 64-bit float."""
    if isinstance(value, (int, float, PythonDecimal)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and (number := parse_decimal(value)) is not None:
        return float(number)
    return float(as_long(value, schema))


def _decimal(schema: Schema, value: Any) -> PythonDecimal:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Decimal.to_logical(schema, bytes(value))
    if isinstance(value, PythonDecimal):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # Java has no negative zero among decimals.
        return PythonDecimal(double_text(float(value) or 0.0))
    if isinstance(value, str) and (number := parse_decimal(value)) is not None:
        return number
    raise _cannot(value, schema)


def _bytes(schema: Schema, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, PythonDecimal):
        return Decimal.from_logical(schema, value)
    raise _cannot(value, schema)


def _container(value: Any, kinds: tuple[type, ...], target: str) -> Any:
    if value is None:
        raise _null_error()
    parsed = _parsed(value) if isinstance(value, str) else value
    if isinstance(parsed, kinds):
        return parsed
    raise _cannot(parsed, f"Schema{{{target}}}")


def _temporal(value: Any) -> Any:
    if value is None:
        raise _null_error()
    return _parsed(value) if isinstance(value, str) else value


def _moment(value: dt.date | dt.time) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    day, clock = (_EPOCH_DAY, value) if isinstance(value, dt.time) else (value, dt.time())
    return dt.datetime.combine(day, clock, tzinfo=dt.timezone.utc)


def _parsed(text: str) -> Any:
    from hearth_api.values import parse_string  # which needs this module to bring elements to one type

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


def _null_error() -> DataError:
    return DataError("Unable to convert a null value to a schema that requires a value")


def _cannot(value: Any, target: Any) -> DataError:
    return DataError(f"Unable to convert {value} (class {type(value).__qualname__}) to {target}")


_FROM_LOGICAL: dict[str | None, Callable[[Schema, Any], int]] = {
    kind.LOGICAL_NAME: kind.from_logical for kind in (Date, Time, Timestamp)
}
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
