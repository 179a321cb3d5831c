"""Random schemas and values of Connect that Avro supports."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from hypothesis import strategies as st

from hearth_api import STRING_SCHEMA, Date, Decimal, Schema, SchemaBuilder, Struct, Time, Timestamp, Type
from hearth_api.java import hash_ordered, to_physical

_UTC = dt.timezone.utc
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_SCALARS: dict[Type, st.SearchStrategy[Any]] = {
    Type.INT8: st.integers(-(1 << 7), (1 << 7) - 1),
    Type.INT16: st.integers(-(1 << 15), (1 << 15) - 1),
    Type.INT32: st.integers(-(1 << 31), (1 << 31) - 1),
    Type.INT64: st.integers(-(1 << 63), (1 << 63) - 1),
    Type.FLOAT32: st.floats(width=32, allow_nan=False),
    Type.FLOAT64: st.floats(allow_nan=False),
    Type.BOOLEAN: st.booleans(),
    Type.STRING: _TEXTS,
    Type.BYTES: st.binary(max_size=8),
}


def _to_millis(time: dt.time) -> dt.time:
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


_LOGICAL: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    Date.LOGICAL_NAME: (Date.builder, st.dates()),
    Time.LOGICAL_NAME: (Time.builder, st.times().map(_to_millis)),
    Timestamp.LOGICAL_NAME: (
        Timestamp.builder,
        st.integers(-10**13, 10**13).map(
            lambda millis: dt.datetime(1970, 1, 1, tzinfo=_UTC) + millis * dt.timedelta(milliseconds=1)
        ),
    ),
    Decimal.LOGICAL_NAME: (
        lambda: Decimal.builder(2),
        st.integers(-(10**20), 10**20).map(lambda number: decimal.Decimal(number).scaleb(-2)),
    ),
}  # fmt: skip


def _finished(builder: SchemaBuilder, is_optional: bool) -> Schema:
    return (builder.optional() if is_optional else builder).build()


def _structs(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    def build(fields: list[Schema], is_optional: bool) -> Schema:
        builder = SchemaBuilder.struct()
        for number, schema in enumerate(fields):
            builder.field(f"f{number}", schema)
        return _finished(builder, is_optional)

    return st.builds(build, st.lists(inner, min_size=1, max_size=5), st.booleans())


def _containers(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    arrays = st.builds(lambda items, end: _finished(SchemaBuilder.array(items), end), inner, st.booleans())
    maps = st.builds(lambda items, end: _finished(SchemaBuilder.map(STRING_SCHEMA, items), end), inner, st.booleans())
    return st.one_of(_structs(inner), _structs(inner), arrays, maps)


_LEAVES = st.one_of(
    st.builds(lambda type_, end: _finished(SchemaBuilder(type_), end), st.sampled_from(list(_SCALARS)), st.booleans()),
    st.builds(lambda name, end: _finished(_LOGICAL[name][0](), end), st.sampled_from(list(_LOGICAL)), st.booleans()),
)
SCHEMAS = st.recursive(_LEAVES, _containers, max_leaves=6)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    """Draw values of a schema."""
    present = _present(schema)
    return st.one_of(st.none(), present) if schema.optional else present


def _present(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name][1]
    if schema.type is Type.STRUCT:
        fields = [values(field.schema) for field in schema.fields]
        return st.tuples(*fields).map(lambda row: Struct.unchecked(schema, row))
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return st.lists(values(schema.value_schema), max_size=3)
    if schema.type is Type.MAP:
        assert schema.value_schema is not None
        return st.dictionaries(_TEXTS, values(schema.value_schema), max_size=3).map(
            lambda value: hash_ordered(hash_ordered(value), capacity=len(value))
        )
    return _SCALARS[schema.type]


def plain(schema: Schema, value: Any) -> Any:
    """Return a value as fastavro reads it without logical types."""
    if value is None:
        return None
    if schema.type is Type.STRUCT:
        return {field.name: plain(field.schema, item) for field, item in zip(schema.fields, value.raw_values())}
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return [plain(schema.value_schema, item) for item in value]
    if schema.type is Type.MAP:
        assert schema.value_schema is not None
        return {key: plain(schema.value_schema, item) for key, item in hash_ordered(value, STRING_SCHEMA).items()}
    return to_physical(schema, value)


_KINDS = ("null", "int", "long", "string", "bytes", "record", "enum", "fixed", "array", "map", "error", "R", "a.R", "")
_WORDS = st.sampled_from((*_KINDS, "date", "decimal", "time-millis", "timestamp-millis", "int8", "x-y", "é", "1"))
_MEMBERS = st.sampled_from(
    (
        "type", "type", "name", "name", "namespace", "fields", "symbols", "items", "values", "size", "default", "doc",
        "aliases", "order", "logicalType", "scale", "precision", "connect.type", "connect.name", "connect.version",
        "connect.default", "connect.doc", "connect.parameters", "connect.internal.type", "avro.java.string",
    )
)  # fmt: skip
_JSON_LEAVES = st.one_of(_WORDS, st.none(), st.booleans(), st.integers(-3, 70), st.floats())


def _of_kind(kind: str, inner: Any, size: int, names: str) -> Any:
    field = {"name": "f", "type": inner, "default": 1}
    made = {"type": kind, "name": names, "fields": [field], "symbols": ["A", "B"], "size": size}
    return {**made, "items": inner, "values": inner}


def _changed(kind: str, inner: Any, more: dict[str, Any]) -> Any:
    return {**_of_kind(kind, inner, 2, "U"), **more}


TREES = st.recursive(
    _JSON_LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(_MEMBERS, inner, max_size=5),
        st.builds(_of_kind, st.sampled_from(_KINDS), inner, st.integers(0, 3), st.sampled_from(("R", "S", "a.T"))),
        st.builds(_changed, st.sampled_from(_KINDS), inner, st.dictionaries(_MEMBERS, inner, max_size=3)),
    ),
    max_leaves=8,
)
"""JSON that a registry may have for a schema: some is one, some nearly."""
