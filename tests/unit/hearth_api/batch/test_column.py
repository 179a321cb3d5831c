"""Columns hold the values of records and return them."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
    Type,
    needs_records,
)
from hearth_api.batch import arrow_type, column_to_values, fill_nulls, values_to_column
from hearth_api.batch import column as column_module
from hearth_api.batch.column import LAY_OUT, lay_out_nothing
from hearth_api.schema import deep_key
from tests.unit.hearth_api.strategy import SCHEMALESS, schemas, values


@given(st.data())
def test_values_come_back(data: st.DataObject) -> None:
    """Values of any schema survive, including nulls and slices."""
    schema = data.draw(schemas())
    rows = data.draw(st.lists(st.none() | values(schema), max_size=5))
    column = values_to_column(schema, rows)
    assert column.type == arrow_type(schema)
    assert deep_key(column_to_values(schema, column)) == deep_key(rows)
    start = data.draw(st.integers(0, len(rows)))
    assert deep_key(column_to_values(schema, column.slice(start))) == deep_key(rows[start:])


_LEAVES = [Schema(type_) for type_ in Type if type_.is_primitive] + [
    Timestamp.SCHEMA,
    SchemaBuilder.map(STRING_SCHEMA, INT8_SCHEMA).build(),
]
_ODD = st.none() | st.sampled_from(
    [True, 1, -129, 1 << 15, 1 << 31, -(1 << 63), 1 << 63, 1.5, "ü", "\ud800", b"x", {}]
)


@given(st.data(), st.lists(st.sampled_from(_LEAVES), min_size=1, max_size=4))
def test_structs_are_laid_out_as_their_fields_are_one_by_one(data: st.DataObject, leaves: list[Schema]) -> None:
    """Whatever they hold, the column or the error is the same."""
    builder = SchemaBuilder.struct().optional()
    for number, leaf in enumerate(leaves):
        builder.field(f"f{number}", leaf)
    schema = builder.field("inner", SchemaBuilder.struct().optional().field("x", leaves[0]).build()).build()
    inner = schema.fields[-1].schema
    members = [st.one_of(values(leaf), values(leaf), values(leaf), _ODD) for leaf in leaves]
    row = st.tuples(*members, st.none() | members[0].map(lambda value: Struct.unchecked(inner, [value])))
    rows = data.draw(st.lists(st.none() | row.map(lambda found: Struct.unchecked(schema, found)), max_size=9))
    found = []
    for way in (LAY_OUT, lay_out_nothing):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(column_module, "LAY_OUT", way)
            try:
                found.append(values_to_column(schema, rows))
            except (DataError, pa.ArrowException, ValueError, TypeError, AttributeError) as error:
                found.append(f"{type(error).__name__}: {error}")
    one, other = found
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    one.validate(full=True)
    assert one.type == other.type
    assert deep_key(one.to_pylist()) == deep_key(other.to_pylist())
    assert [one.field(place).null_count for place in range(len(leaves))] == [
        other.field(place).null_count for place in range(len(leaves))
    ]


def test_texts_of_structs_may_be_long() -> None:
    """Each buffer grows as needed."""
    schema = SchemaBuilder.struct().field("text", STRING_SCHEMA).field("data", BYTES_SCHEMA).build()
    texts = ["", "a", "ü" * 1000, "b" * 100_000, "\0", "c" * 10]
    column = values_to_column(schema, [Struct.unchecked(schema, (text, text.encode())) for text in texts])
    assert column.to_pylist() == [{"text": text, "data": text.encode()} for text in texts]


@given(st.data(), st.sampled_from([Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT64]), st.booleans())
def test_numbers_lie_in_memory_as_arrow_lays_them(data: st.DataObject, type_: Type, has_nulls: bool) -> None:
    """With nulls, without, or empty."""
    rows = data.draw(st.lists(values(Schema(type_, optional=has_nulls)), max_size=50))
    column, expected = values_to_column(Schema(type_), rows), pa.array(rows, arrow_type(Schema(type_)))
    column.validate(full=True)
    assert (column.type, column.null_count) == (expected.type, expected.null_count)
    assert deep_key(column.to_pylist()) == deep_key(expected.to_pylist())


@given(st.lists(SCHEMALESS, max_size=5))
def test_schemaless_values_come_back(rows: list[Any]) -> None:
    """Without schema a column holds JSON texts."""
    column = values_to_column(None, rows)
    assert column.type == pa.string()
    assert deep_key(column_to_values(None, column)) == deep_key(rows)


def test_logical_types_are_kept_physically() -> None:
    """Columns hold Connect's encoding of dates, times and decimals."""
    moment = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.timezone.utc)
    assert values_to_column(Timestamp.SCHEMA, [moment, None]).equals(pa.array([1000, None], pa.int64()))
    assert arrow_type(Decimal.schema(2)) == pa.binary()


def test_mixed_arrays_hold_json() -> None:
    """An array of mixed types is an array of JSON texts."""
    schema = Schema(Type.ARRAY)
    column = values_to_column(schema, [[1, "x", None], None, []])
    assert column.type == pa.list_(pa.string())
    assert column_to_values(schema, column) == [[1, "x", None], None, []]


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (INT8_SCHEMA, 128, "128 is out of range for value, schema type: INT8"),
        (INT64_SCHEMA, 1 << 63, "9223372036854775808 is out of range"),
        (INT64_SCHEMA, True, "with type INT64: class bool for value"),
        (INT64_SCHEMA, 1.0, "with type INT64: class float for value"),
        (FLOAT64_SCHEMA, 1, "with type FLOAT64: class int for value"),
        (BOOLEAN_SCHEMA, 1, "with type BOOLEAN: class int for value"),
        (STRING_SCHEMA, b"x", "with type STRING: class bytes for value"),
        (STRING_SCHEMA, "\ud800", "cannot be kept in a column"),
        (BYTES_SCHEMA, "x", "with type BYTES: class str for value"),
        (Timestamp.SCHEMA, 1, "with type INT64: class int for value"),
        (SchemaBuilder.array(INT8_SCHEMA).build(), 5, "with type ARRAY: class int for value"),
        (SchemaBuilder.array(INT8_SCHEMA).build(), ["x"], "with type INT8: class str"),
        (SchemaBuilder.struct().build(), {}, "with type STRUCT: class dict for value"),
        (Schema(Type.MAP), {None: 1}, "may not have a null key"),
    ],
)
def test_values_that_do_not_fit_are_refused(schema: Schema, value: Any, text: str) -> None:
    """Arrow would convert some values; a column accepts only what the schema allows."""
    with pytest.raises(DataError) as error:
        values_to_column(schema, [value])
    assert text in str(error.value)


@pytest.mark.parametrize("kind", ["array", "struct", "map", "optional map of arrays"])
def test_created_column_can_be_serialized(kind: str) -> None:
    """Arrow limits levels; values of deeper schemas are texts, and go to plugins as records."""
    around: Callable[[Schema], Schema] = {
        "array": lambda inner: SchemaBuilder.array(inner).build(),
        "struct": lambda inner: SchemaBuilder.struct().field("other", INT8_SCHEMA).field("inner", inner).build(),
        "map": lambda inner: SchemaBuilder.map(STRING_SCHEMA, inner).build(),
        "optional map of arrays": lambda inner: (
            SchemaBuilder.map(STRING_SCHEMA, SchemaBuilder.array(inner).build()).optional().build()
        ),
    }[kind]
    schemas = [INT64_SCHEMA]
    for _ in range(64):
        schemas.append(around(schemas[-1]))
    largest = bisect_left(schemas, True, key=needs_records) - 1
    for schema in schemas[largest : largest + 2]:
        values = [None, deep_value(schema)]
        batch = pa.RecordBatch.from_arrays([values_to_column(schema, values)], names=["value"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        again = pa.ipc.open_stream(sink.getvalue()).read_next_batch()
        assert again.equals(batch)
        assert column_to_values(schema, again.column(0)) == values
        assert (arrow_type(schema) == pa.string()) is needs_records(schema)
    with pytest.raises(DataError):
        values_to_column(schemas[largest + 1], ["no value of it"])


def deep_value(schema: Schema) -> Any:
    """Return a value of a schema of nested arrays, maps or structs."""
    if schema.type is Type.ARRAY:
        return [deep_value(schema.value_schema)] if schema.value_schema else []
    if schema.type is Type.MAP:
        return {"key": deep_value(schema.value_schema)} if schema.value_schema else {}
    if schema.type is Type.STRUCT:
        return Struct(schema, **{field.name: deep_value(field.schema) for field in schema.fields})
    return 7


def test_struct_of_another_schema_is_refused() -> None:
    """The message is that of Kafka's JSON converter."""
    wanted = SchemaBuilder.struct().field("a", INT8_SCHEMA).build()
    with pytest.raises(DataError, match=r"Mismatching schema\."):
        values_to_column(wanted, [Struct(SchemaBuilder.struct().build())])


def test_subclasses_are_taken_as_their_base() -> None:
    """A named integer or text is accepted like a plain one."""
    port, name = type("Port", (int,), {})(5), type("Name", (str,), {})("x")
    assert values_to_column(INT8_SCHEMA, [port]).to_pylist() == [5]
    assert values_to_column(STRING_SCHEMA, [name]).to_pylist() == ["x"]
    assert values_to_column(BYTES_SCHEMA, [bytearray(b"x"), memoryview(b"y")]).to_pylist() == [b"x", b"y"]


def test_changed_list_in_a_struct_is_checked_again() -> None:
    """A struct checks values on put; a list may change afterwards."""
    schema = SchemaBuilder.struct().field("a", SchemaBuilder.array(INT8_SCHEMA).build()).build()
    own = [1, 2]
    struct = Struct(schema).put("a", own)
    assert values_to_column(schema, [struct, None]).to_pylist() == [{"a": [1, 2]}, None]
    own.append("x")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="with type INT8: class str"):
        values_to_column(schema, [struct])


def test_nulls_are_filled_with_one_value() -> None:
    """Of any type; a column without nulls stays as it is."""
    schema = SchemaBuilder.array(INT64_SCHEMA).optional().build()
    column = values_to_column(schema, [[1], None, []])
    assert column_to_values(schema, fill_nulls(schema, column, [7, 8])) == [[1], [7, 8], []]
    whole = column.slice(0, 1)
    assert fill_nulls(schema, whole, [7]) is whole
