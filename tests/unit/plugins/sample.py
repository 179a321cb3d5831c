"""Values in golden files: how Kafka's Java classes were given them, and how they answered.

A value is null or a pair of a kind and a plain form: i8 to i64, f32 and f64 (as Java's text), b, s, bytes (base64),
dec (text), date (milliseconds since 1970, whatever the logical type), arr, map (pairs) and struct (an object, without
the fields that were never set).
"""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
import lzma
from pathlib import Path
from typing import Any

from hearth_api import Date, Schema, Struct, Time, Type
from hearth_api.java import convert_to_float32, double_text, float_text

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_MILLI = dt.timedelta(milliseconds=1)
_NAME_OF_INTEGER = {Type.INT8: "i8", Type.INT16: "i16", Type.INT32: "i32"}


def cases(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a golden file, one JSON object per line; a large one is compressed."""
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return [json.loads(line) for line in text.decode("utf-8", "surrogatepass").rstrip("\n").split("\n")]


def message(case: dict[str, Any]) -> bytes | None:
    """Return the bytes a case reads: a text, base64, or texts and how often each is repeated."""
    if "parts" in case:
        return "".join(text * count for text, count in case["parts"]).encode()
    if "in64" in case:
        return base64.b64decode(case["in64"])
    return None if case["in"] is None else str(case["in"]).encode()


def build(schema: Schema | None, form: Any) -> Any:
    """Return the Python value of a form."""
    if form is None:
        return None
    kind, plain = form[0], form[1]
    if kind in ("f32", "f64"):
        return convert_to_float32(None, float(plain)) if kind == "f32" and schema is not None else float(plain)
    if kind == "bytes":
        return base64.b64decode(plain)
    if kind == "dec":
        return decimal.Decimal(plain)
    if kind == "date":
        return _moment(schema, plain)
    if kind == "arr":
        return [build(_part(schema, "value_schema"), item) for item in plain]
    if kind == "map":
        keys, items = _part(schema, "key_schema"), _part(schema, "value_schema")
        return {build(keys, key): build(items, item) for key, item in plain}
    if kind == "struct":
        assert schema is not None
        struct = Struct(schema)
        for field in schema.fields:
            if field.name in plain:
                struct.put(field, build(field.schema, plain[field.name]))
        return struct
    return plain


def form(schema: Schema | None, value: Any) -> Any:
    """Return the form of a Python value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return ["b", value]
    if isinstance(value, int):
        return [_NAME_OF_INTEGER.get(schema.type, "i64") if schema is not None else "i64", value]
    if isinstance(value, float):
        is_narrow = schema is not None and schema.type is Type.FLOAT32
        return ["f32", float_text(value)] if is_narrow else ["f64", double_text(value)]
    if isinstance(value, str):
        return ["s", value]
    if isinstance(value, bytes):
        return ["bytes", base64.b64encode(value).decode()]
    if isinstance(value, decimal.Decimal):
        return ["dec", str(value)]
    if isinstance(value, (dt.date, dt.time)):
        return ["date", _millis(value)]
    return _container_form(schema, value)


def _container_form(schema: Schema | None, value: Any) -> Any:
    if isinstance(value, Struct):
        pairs = zip(value.schema.fields, value.raw_values())
        return ["struct", {field.name: form(field.schema, item) for field, item in pairs}]
    items = _part(schema, "value_schema")
    if isinstance(value, (list, tuple)):
        return ["arr", [form(items, item) for item in value]]
    keys = _part(schema, "key_schema")
    entries = [[form(keys, key), form(items, item)] for key, item in value.items()]
    return ["map", entries]


def _part(schema: Schema | None, name: str) -> Schema | None:
    holds_parts = schema is not None and schema.type in (
        (Type.MAP,) if name == "key_schema" else (Type.MAP, Type.ARRAY)
    )
    return getattr(schema, name) if holds_parts else None


def _moment(schema: Schema | None, millis: int) -> dt.date | dt.time:
    moment = _EPOCH + millis * _MILLI
    if schema is not None and schema.name == Date.LOGICAL_NAME:
        return moment.date()
    if schema is not None and schema.name == Time.LOGICAL_NAME:
        return moment.time()
    return moment


def _millis(value: dt.date | dt.time) -> int:
    if isinstance(value, dt.time):
        value = dt.datetime.combine(_EPOCH, value, dt.timezone.utc)
    elif not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time(), dt.timezone.utc)
    return (value - _EPOCH) // _MILLI
