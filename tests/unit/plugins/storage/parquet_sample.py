"""Schemas and rows that show each rule of parquet-avro."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from hearth_api import (
    BYTES_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
)

_UTC = dt.timezone.utc
_INNER = SchemaBuilder.struct().name("com.acme.Inner").field("a", STRING_SCHEMA).field("b", OPTIONAL_INT32_SCHEMA)
INNER = _INNER.build()


def _array(items: Schema) -> Schema:
    return SchemaBuilder.array(items).build()


def _struct(name: str, **fields: Schema) -> Schema:
    builder = SchemaBuilder.struct().name(name)
    for each, schema in fields.items():
        builder.field(each, schema)
    return builder.build()


def _enum() -> Schema:
    prefix = "io.confluent.connect.avro.Enum"
    parameters = {prefix: "com.acme.Color", f"{prefix}.RED": "RED", f"{prefix}.GREEN": "GREEN"}
    builder = SchemaBuilder.string().name("com.acme.Color")
    for each, value in parameters.items():
        builder.parameter(each, value)
    return builder.build()


SCALARS = _struct(
    "com.acme.Scalars",
    i8=INT8_SCHEMA, i16=SchemaBuilder.int16().optional().build(), i32=INT32_SCHEMA, i64=OPTIONAL_INT64_SCHEMA,
    f32=SchemaBuilder.float32().build(), f64=SchemaBuilder.float64().optional().build(),
    yes=SchemaBuilder.boolean().build(),
    text=OPTIONAL_STRING_SCHEMA, octets=BYTES_SCHEMA, filled=SchemaBuilder.int32().default(7).build(),
)  # fmt: skip
LOGICAL = _struct(
    "com.acme.Logical",
    wide=Decimal.builder(2).build(), narrow=Decimal.builder(3).parameter("connect.decimal.precision", "9").build(),
    maybe=Decimal.builder(0).optional().build(), day=Date.builder().build(), time=Time.builder().optional().build(),
    at=Timestamp.builder().build(), color=_enum(),
)  # fmt: skip
LISTS = _struct(
    "com.acme.Lists",
    texts=_array(STRING_SCHEMA), inners=SchemaBuilder.array(INNER).optional().build(),
    nested=_array(_array(INT32_SCHEMA)), decimals=_array(Decimal.builder(2).build()),
    maps=_array(SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build()),
)  # fmt: skip
NULLABLE_ITEMS = _struct(
    "com.acme.NullableItems", texts=_array(OPTIONAL_STRING_SCHEMA), nested=_array(_array(INT32_SCHEMA)),
    inners=_array(INNER),
)  # fmt: skip
MAPS = _struct(
    "com.acme.Maps",
    plain=SchemaBuilder.map(STRING_SCHEMA, INT64_SCHEMA).build(),
    nulls=SchemaBuilder.map(STRING_SCHEMA, OPTIONAL_STRING_SCHEMA).optional().build(),
    numbers=SchemaBuilder.map(INT32_SCHEMA, STRING_SCHEMA).build(),
    inners=SchemaBuilder.map(STRING_SCHEMA, INNER).build(),
)  # fmt: skip
NESTED = _struct(
    "com.acme.Nested",
    inner=INNER, maybe=_INNER.optional().build(),
    deep=_struct("com.acme.Deep", inner=SchemaBuilder.struct().name("com.acme.Other").field("x", INNER).build()),
)  # fmt: skip


def rows(schema: Schema, count: int = 9) -> list[Struct]:
    """Return rows of one of the schemas."""
    return [Struct.of(schema, _ROWS[str(schema.name)](number)) for number in range(count)]


def _scalars(number: int) -> dict[str, Any]:
    return {
        "i8": number - 4, "i16": None if number % 3 else -number, "i32": number << 20,
        "i64": None if number == 5 else number << 40, "f32": number / 4, "f64": None if number % 2 else number / 3,
        "yes": number % 2 == 0, "text": None if number % 4 == 0 else f"text-{number}é", "octets": b"\0\xff" * number,
        "filled": number,
    }  # fmt: skip


def _logical(number: int) -> dict[str, Any]:
    return {
        "wide": decimal.Decimal(number * (-1) ** number).scaleb(-2),
        "narrow": decimal.Decimal(12_345 * number).scaleb(-3),
        "maybe": None if number % 2 else decimal.Decimal(10**number),
        "day": dt.date(1969, 12, 30) + dt.timedelta(number),
        "time": None if number % 3 else dt.time(1, 2, number, 4_000),
        "at": dt.datetime(1969, 12, 31, 23, 59, 55, 7_000, _UTC) + dt.timedelta(seconds=number),
        "color": ("RED", "GREEN")[number % 2],
    }  # fmt: skip


def _lists(number: int) -> dict[str, Any]:
    return {
        "texts": [f"{each}" for each in range(number % 4)],
        "inners": None if number % 4 == 0 else [_inner(each) for each in range(number % 4)],
        "nested": [[1, 2], [], [number]][: number % 4], "decimals": [decimal.Decimal("1.50")] * (number % 2),
        "maps": [{"a": number}, {}][: number % 3],
    }  # fmt: skip


def _nullable_items(number: int) -> dict[str, Any]:
    texts = [None, "a", None, "b"][: number % 5]
    return {"texts": texts, "nested": [[1], []][: number % 3], "inners": [_inner(number)] * (number % 2)}


def _maps(number: int) -> dict[str, Any]:
    return {
        "plain": {"a": number, "b": -number} if number % 3 else {},
        "nulls": None if number % 4 == 0 else {"x": None, "y": "z"},
        "numbers": {each: str(each) for each in range(number % 3)}, "inners": {"k": _inner(number)},
    }  # fmt: skip


def _nested(number: int) -> dict[str, Any]:
    return {
        "inner": _inner(number), "maybe": _inner(number) if number % 2 else None,
        "deep": {"inner": {"x": _inner(number)}},
    }  # fmt: skip


def _inner(number: int) -> dict[str, Any]:
    return {"a": f"a{number}", "b": number if number % 2 else None}


_ROWS = {
    "com.acme.Scalars": _scalars, "com.acme.Logical": _logical, "com.acme.Lists": _lists,
    "com.acme.NullableItems": _nullable_items, "com.acme.Maps": _maps, "com.acme.Nested": _nested,
}  # fmt: skip
ALL = (SCALARS, LOGICAL, LISTS, NULLABLE_ITEMS, MAPS, NESTED)
