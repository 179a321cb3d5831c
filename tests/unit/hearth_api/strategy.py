"""Hypothesis strategies for schemas and values that fit them."""

from __future__ import annotations

import datetime as dt
import decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st

from hearth_api import Date, Decimal, Schema, SchemaBuilder, Struct, Time, Timestamp, Type

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAME = st.text("abcxyz_@.é", min_size=1, max_size=4)
INTEGERS = {
    type_: st.integers(-(1 << bits), (1 << bits) - 1)
    for type_, bits in ((Type.INT8, 7), (Type.INT16, 15), (Type.INT32, 31), (Type.INT64, 63))
}
FLOATS = {Type.FLOAT32: st.floats(width=32), Type.FLOAT64: st.floats()}
PRIMITIVES: dict[Type, st.SearchStrategy[Any]] = {
    **INTEGERS,
    **FLOATS,
    Type.BOOLEAN: st.booleans(),
    Type.STRING: TEXT,
    Type.BYTES: st.binary(max_size=8),
}
MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=dt.timezone.utc)
)
TIMES = st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))
UNSCALED = st.integers(-(10**40), 10**40)


def decimals(scale: int) -> st.SearchStrategy[decimal.Decimal]:
    """Return decimals of one scale."""
    context = decimal.Context(prec=100)
    return UNSCALED.map(lambda unscaled: decimal.Decimal(unscaled).scaleb(-scale, context))


# Strategies are created once: hypothesis validates every new one before drawing from it.
_VERSIONS, _SCALES, _FLAGS = st.integers(0, 9), st.integers(-3, 5), st.booleans()
_NAMES = st.lists(NAME, max_size=3, unique=True)


@cache
@st.composite
def schemas(draw: st.DrawFn, depth: int = 2, key: bool = False) -> Schema:
    """Return schemas of every kind; those for map keys have values that Python can hash."""
    builder = draw(_builders(depth, key))
    if not key and draw(_FLAGS):
        builder.optional()
    if draw(_FLAGS):
        builder.doc(draw(TEXT)).parameter(draw(NAME), draw(TEXT))
    logical = builder.build().name is not None
    if not logical and draw(_FLAGS):
        builder.name(draw(NAME)).version(draw(_VERSIONS))
    if draw(_FLAGS):
        default = draw(values(builder.build()))
        if default is not None:
            builder.default(default)
    return builder.build()


@cache
def _kinds(is_nested: bool) -> st.SearchStrategy[str]:
    return st.sampled_from(["primitive", "logical", *(["array", "map", "struct"] if is_nested else [])])


@cache
def _types(key: bool) -> st.SearchStrategy[Type]:
    return st.sampled_from([t for t in PRIMITIVES if not (key and t in FLOATS)])


@cache
@st.composite
def _builders(draw: st.DrawFn, depth: int, key: bool) -> SchemaBuilder:
    kind = draw(_kinds(depth > 0 and not key))
    if kind == "primitive":
        return SchemaBuilder.type(draw(_types(key)))
    if kind == "logical":
        decimal_builder = Decimal.builder(draw(_SCALES))
        return draw(st.sampled_from([Date.builder(), Time.builder(), Timestamp.builder(), decimal_builder]))
    if kind == "array":
        return SchemaBuilder.array(draw(schemas(depth - 1)))
    if kind == "map":
        return SchemaBuilder.map(draw(schemas(depth - 1, key=True)), draw(schemas(depth - 1)))
    builder = SchemaBuilder.struct()
    for name in draw(_NAMES):
        builder.field(name, draw(schemas(depth - 1)))
    return builder


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Return values that fit a schema."""
    present = _present(schema)
    return st.none() | present if schema.optional else present


def _present(schema: Schema) -> st.SearchStrategy[Any]:
    logical: dict[str | None, st.SearchStrategy[Any]] = {
        Date.LOGICAL_NAME: st.dates(),
        Time.LOGICAL_NAME: TIMES,
        Timestamp.LOGICAL_NAME: MOMENTS,
    }
    if schema.name == Decimal.LOGICAL_NAME:
        return decimals(Decimal.scale(schema))
    if schema.name in logical:
        return logical[schema.name]
    if schema.type in PRIMITIVES:
        return PRIMITIVES[schema.type]
    if schema.type is Type.STRUCT:
        return st.tuples(*(values(field.schema) for field in schema.fields)).map(
            lambda row: Struct.unchecked(schema, row)
        )
    inner = schema.value_schema
    assert inner is not None
    if schema.type is Type.ARRAY:
        return st.lists(values(inner), max_size=3)
    assert schema.key_schema is not None
    return st.dictionaries(values(schema.key_schema), values(inner), max_size=3)


SCHEMALESS: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats()
    | TEXT
    | st.sampled_from(["@", "@map", '"@', "a\\b", '"'])
    | st.binary(max_size=5)
    | decimals(2)
    | MOMENTS
    | TIMES
    | st.dates()
    | schemas(1).flatmap(values).filter(lambda value: isinstance(value, Struct)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXT | st.sampled_from(["@map", "@bytes", "@"]), inner, max_size=3)
        | st.dictionaries(st.integers(), inner, max_size=2)
    ),
    max_leaves=6,
)

_KINDS = (
    st.integers(-5, 5),
    st.none() | st.integers(-(1 << 64), 1 << 64),
    st.floats(allow_nan=False),
    st.sampled_from([0.0, 0.5, -1.25, 12.5, 3.0, None]),
    st.sampled_from(["", "a", "b"]),
    st.none() | TEXT,
    TEXT | st.sampled_from(['"', "\\", "\n", "null", "1", "true", "1970-01-01"]),
    st.none() | st.booleans(),
    MOMENTS | st.none(),
    st.dates(),
    st.binary(max_size=3),
    st.none() | st.booleans() | st.integers(0, 3) | st.floats(allow_nan=False) | TEXT,
    st.lists(st.integers(0, 2) | st.just("a"), max_size=2),
)
_MEMBERS = st.sampled_from(["a", "b", "c", "a.b", "é", "@"])
ALIKE: st.SearchStrategy[st.SearchStrategy[Any]] = st.recursive(
    st.sampled_from(_KINDS),
    lambda inner: (
        st.dictionaries(_MEMBERS, inner, max_size=3).map(st.fixed_dictionaries)
        | st.lists(inner, max_size=2).map(lambda parts: st.tuples(*parts).map(list))
    ),
    max_leaves=4,
)
"""Strategies for schemaless values of one layout each: the same members, scalars of mostly one kind."""
