"""Columns of Arrow tables convert to columns of Connect data and back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hearth_api import DataError, Date, Decimal, Schema, SchemaBuilder, Struct, Time, Timestamp, Type
from hearth_api.batch import TableColumn, arrow_type, column_to_values, values_to_column
from hearth_api.batch.table_column import PRECISION, struct_of_table, table_of
from tests.unit.hearth_api.strategy import schemas, values

UTC = dt.timezone.utc
MOMENT = dt.datetime(1965, 1, 2, 3, 4, 5, 678_900)
IN_MILLIS = dt.datetime(1965, 1, 2, 3, 4, 5, 678_000, UTC)
DAY = dt.date(1965, 1, 2)


def decimals(scale: int, digits: int) -> SchemaBuilder:
    """Start a schema of decimals with a precision."""
    return Decimal.builder(scale).parameter(PRECISION, str(digits))


KINDS: list[tuple[Any, SchemaBuilder, Any, Any]] = [
    (pa.int8(), SchemaBuilder.int8(), -1, -1),
    (pa.int16(), SchemaBuilder.int16(), -1, -1),
    (pa.int32(), SchemaBuilder.int32(), -1, -1),
    (pa.int64(), SchemaBuilder.int64(), -(2**63), -(2**63)),
    (pa.uint8(), SchemaBuilder.int16(), 255, 255),
    (pa.uint16(), SchemaBuilder.int32(), 65_535, 65_535),
    (pa.uint32(), SchemaBuilder.int64(), 2**32 - 1, 2**32 - 1),
    (pa.uint64(), SchemaBuilder.int64(), 2**63 - 1, 2**63 - 1),
    (pa.float16(), SchemaBuilder.float32(), 1.5, 1.5),
    (pa.float32(), SchemaBuilder.float32(), 1.5, 1.5),
    (pa.float64(), SchemaBuilder.float64(), 1e300, 1e300),
    (pa.bool_(), SchemaBuilder.boolean(), True, True),
    (pa.string(), SchemaBuilder.string(), "ü𝄞", "ü𝄞"),
    (pa.large_string(), SchemaBuilder.string(), "ü", "ü"),
    (pa.string_view(), SchemaBuilder.string(), "a long one, longer than twelve", "a long one, longer than twelve"),
    (pa.dictionary(pa.int8(), pa.string()), SchemaBuilder.string(), "ü", "ü"),
    (pa.binary(), SchemaBuilder.bytes(), b"\xff", b"\xff"),
    (pa.large_binary(), SchemaBuilder.bytes(), b"\xff", b"\xff"),
    (pa.binary_view(), SchemaBuilder.bytes(), b"\xff", b"\xff"),
    (pa.binary(2), SchemaBuilder.bytes(), b"ab", b"ab"),
    (pa.uuid(), SchemaBuilder.bytes(), b"0123456789abcdef", b"0123456789abcdef"),
    (pa.decimal32(5, 2), decimals(2, 5), Number("-1.50"), Number("-1.50")),
    (pa.decimal64(15, 2), decimals(2, 15), Number("1.50"), Number("1.50")),
    (pa.decimal128(38, 0), decimals(0, 38), Number(10**37), Number(10**37)),
    (pa.decimal256(76, 3), decimals(3, 76), Number("-0.001"), Number("-0.001")),
    (pa.date32(), Date.builder(), DAY, DAY),
    (pa.date64(), Date.builder(), DAY, DAY),
    (pa.time32("s"), Time.builder(), dt.time(1, 2, 3), dt.time(1, 2, 3)),
    (pa.time32("ms"), Time.builder(), dt.time(1, 2, 3, 4_000), dt.time(1, 2, 3, 4_000)),
    (pa.time64("us"), Time.builder(), dt.time(1, 2, 3, 4_567), dt.time(1, 2, 3, 4_000)),
    (pa.time64("ns"), Time.builder(), dt.time(1, 2, 3, 4_567), dt.time(1, 2, 3, 4_000)),
    (pa.timestamp("s"), Timestamp.builder(), MOMENT.replace(microsecond=0), IN_MILLIS.replace(microsecond=0)),
    (pa.timestamp("ms"), Timestamp.builder(), MOMENT.replace(microsecond=678_000), IN_MILLIS),
    (pa.timestamp("us", "UTC"), Timestamp.builder(), MOMENT.replace(tzinfo=UTC), IN_MILLIS),
    (pa.timestamp("ns", "Europe/Berlin"), Timestamp.builder(), MOMENT.replace(tzinfo=UTC), IN_MILLIS),
]  # fmt: skip


def converted(kind: Any, array: Any, schema: Schema) -> list[Any]:
    """Return the values of a column as in records."""
    form = TableColumn.of(kind, "c")
    assert form.schema == schema
    physical = form.convert(array)
    physical.validate(full=True)
    assert physical.type == arrow_type(schema)
    return column_to_values(schema, physical)


@pytest.mark.parametrize(("kind", "builder", "given", "expected"), KINDS, ids=[str(kind[0]) for kind in KINDS])
def test_each_type_converts_to_its_counterpart(kind: Any, builder: SchemaBuilder, given: Any, expected: Any) -> None:
    """With nulls, in slices, and inside every kind of list, map and struct."""
    schema = builder.optional().build()
    made = pa.array([given, None, given, given], kind.storage_type if isinstance(kind, pa.ExtensionType) else kind)
    made = pa.ExtensionArray.from_storage(kind, made) if isinstance(kind, pa.ExtensionType) else made
    array = made.slice(1)
    rows = [None, expected, expected]
    assert converted(kind, array, schema) == rows
    assert converted(kind, array.slice(0, 0), schema) == []
    listed = SchemaBuilder.array(schema).optional().build()
    lists = pa.ListArray.from_arrays(pa.array([0, 1, None, 3], pa.int32()), array)
    assert converted(lists.type, lists, listed) == [rows[:1], rows[1:], None]
    mapped = SchemaBuilder.map(SchemaBuilder.string().build(), schema).optional().build()
    maps = pa.MapArray.from_arrays(pa.array([0, 3], pa.int32()), pa.array(["a", "b", "c"]), array)
    assert converted(maps.type, maps, mapped) == [dict(zip("abc", rows))]
    within = SchemaBuilder.struct().field("x", schema).optional().build()
    structs = pa.StructArray.from_arrays([array], ["x"], mask=pa.array([False, False, True]))
    assert [row and row["x"] for row in converted(structs.type, structs, within)] == [None, expected, None]


CUTS = st.integers(0, 3)
LISTS = [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 2), pa.list_view, pa.large_list_view]


@pytest.mark.parametrize("kind", LISTS)
@given(
    rows=st.lists(st.none() | st.lists(st.none() | st.integers(0, 9), min_size=2, max_size=2)), cut=st.integers(0, 3)
)
def test_lists_of_every_kind(kind: Any, rows: list[Any], cut: int) -> None:
    """For any slice."""
    schema = SchemaBuilder.array(Timestamp.builder().optional()).optional().build()
    own = kind(pa.timestamp("s"))
    array = pa.array(rows, own).slice(cut)
    expected = [row and [each if each is None else dt.datetime(1970, 1, 1, 0, 0, each, tzinfo=UTC) for each in row]
                for row in rows[cut:]]  # fmt: skip
    assert converted(own, array, schema) == expected


@given(st.data())
def test_a_table_comes_back(data: st.DataObject) -> None:
    """Rows of any schema become a table and back, except for parts of a schema that a table lacks."""
    schema = data.draw(schemas().filter(lambda schema: schema.type is Type.STRUCT and len(schema.fields) > 0))
    rows = data.draw(st.lists(values(schema.replaced(optional=False, default=None)), max_size=4))
    try:
        table = table_of(schema, values_to_column(rows[0].schema if rows else schema, rows))
    except DataError as error:  # this strategy's decimals may have too many digits
        assume("more digits" not in str(error))
        raise
    table.validate(full=True)
    back, column = struct_of_table(table, None)
    assert repr(with_defaults(column_to_values(back, column))) == repr(with_defaults(rows))  # repr, since NaN != NaN
    again = table_of(back, column)
    assert repr(again.to_pylist()) == repr(table.to_pylist())
    assert again.schema == table.schema


def with_defaults(value: Any) -> Any:
    """Return a value with dicts for structs, and defaults for nulls only in required fields."""
    if isinstance(value, Struct):
        pairs = zip(value.schema.fields, value.raw_values())
        return {
            field.name: with_defaults(field.schema.default if each is None and not field.schema.optional else each)
            for field, each in pairs
        }
    if isinstance(value, (dt.datetime, dt.time)):
        return value.replace(fold=0)
    if isinstance(value, dict):
        return {with_defaults(key): with_defaults(each) for key, each in value.items()}
    return [*map(with_defaults, value)] if isinstance(value, list) else value


def test_value_other_than_a_struct_is_the_only_column() -> None:
    """A schemaless text stays JSON; a null struct is a row of nulls, a null with a default the default."""
    assert table_of(None, pa.array(["[1]", None])).to_pylist() == [{"value": "[1]"}, {"value": None}]
    day = Date.SCHEMA
    assert table_of(day, values_to_column(day, [DAY])).to_pylist() == [{"value": DAY}]
    assert not table_of(day, values_to_column(day, [DAY])).schema.field("value").nullable
    inner = SchemaBuilder.struct().field("d", Date.builder().default(DAY)).build()
    outer = SchemaBuilder.struct().field("i", inner.replaced(default=Struct(inner))).field("n", Date.SCHEMA).build()
    found = table_of(outer, values_to_column(outer, [Struct(outer).put("n", DAY), None]))
    assert found.to_pylist()[0] == {"i": {"d": DAY}, "n": DAY}
    assert found.column("n").to_pylist() == [DAY, None]
    assert found.schema.field("n").nullable


def test_too_long_decimal_is_refused() -> None:
    """A decimal with too many digits raises."""
    schema = Decimal.schema(0)
    with pytest.raises(DataError, match="more digits than decimal128"):
        table_of(schema, values_to_column(schema, [Number(10**38)]))


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (pa.table({"a": pa.array([dt.timedelta(1)])}), r"column a is of type duration\[us\]"),
        (pa.table({"a": pa.array([[dt.timedelta(1)]])}), r"column a\[\] is of type duration"),
        (pa.table({"a": pa.array([2**64 - 1], pa.uint64())}), "column a cannot be values of Connect"),
        (pa.table([pa.array([None], pa.int8())], schema=pa.schema([pa.field("a", pa.int8(), False)])), "a has nulls"),
        (pa.table([pa.array([1]), pa.array([1])], names=["a", "a"]), "duplication a"),
        ([{"a": 1}], "not of list"),
    ],
)  # fmt: skip
def test_unsupported_tables_are_refused(table: Any, text: str) -> None:
    """The message names the column."""
    with pytest.raises(DataError, match=text):
        struct_of_table(table, None)
