"""Infers what Java knows of a value and Python does not: its schema and its class."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterable, Mapping
from typing import Any

from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from hearth_api.struct import Struct

_BY_CLASS: tuple[tuple[type | tuple[type, ...], Schema], ...] = (
    (str, STRING_SCHEMA),
    (bool, BOOLEAN_SCHEMA),  # before int, its base class
    (int, INT64_SCHEMA),
    (float, FLOAT64_SCHEMA),
    ((bytes, bytearray, memoryview), BYTES_SCHEMA),
    (dt.datetime, Timestamp.SCHEMA),
    (dt.date, Date.SCHEMA),
    (dt.time, Time.SCHEMA),
)

_CLASSES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (str, "java.lang.String"),
    (bool, "java.lang.Boolean"),
    (int, "java.lang.Long"),
    (float, "java.lang.Double"),
    ((bytes, bytearray, memoryview), "[B"),
    ((list, tuple), "java.util.ArrayList"),
    (Mapping, "java.util.HashMap"),
    (Struct, "org.apache.kafka.connect.data.Struct"),
    (decimal.Decimal, "java.math.BigDecimal"),
    ((dt.date, dt.time), "java.util.Date"),
)
_LONG = 1 << 63
_NARROW = {
    (Type.INT8, int): "java.lang.Byte",
    (Type.INT16, int): "java.lang.Short",
    (Type.INT32, int): "java.lang.Integer",
    (Type.FLOAT32, float): "java.lang.Float",
}


def java_class(value: Any, schema: Schema | None = None) -> str:
    """Return the Java class of such a value, for messages; the schema gives the size of numbers."""
    if value is None:
        return "null"
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        return "java.math.BigInteger"
    narrow = None if schema is None else _NARROW.get((schema.type, type(value)))
    if narrow is not None:
        return narrow
    return next((name for kind, name in _CLASSES if isinstance(value, kind)), type(value).__qualname__)


def infer_schema(value: Any) -> Schema | None:
    """Return a schema that the value fits, or None if there is none, as for None, empty and mixed containers.

    Integers are INT64 and floats FLOAT64, since Python does not distinguish sizes.
    """
    for kind, schema in _BY_CLASS:
        if isinstance(value, kind):
            return schema
    if isinstance(value, Struct):
        return value.schema
    if isinstance(value, decimal.Decimal):
        exponent = value.as_tuple().exponent
        return Decimal.schema(-exponent) if isinstance(exponent, int) else None
    if isinstance(value, (list, tuple)):
        element = _common(value)
        return None if element is None else Schema(Type.ARRAY, value_schema=element)
    if isinstance(value, Mapping):
        keys, items = _common(value.keys()), _common(value.values())
        return None if keys is None or items is None else Schema(Type.MAP, key_schema=keys, value_schema=items)
    return None


def _common(values: Iterable[Any]) -> Schema | None:
    schemas = {infer_schema(value) for value in values if value is not None}
    if len(schemas) != 1 or None in schemas:
        return None
    (schema,) = schemas
    if schema is not None and any(value is None for value in values):
        return schema.replaced(optional=True)
    return schema
