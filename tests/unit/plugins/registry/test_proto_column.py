"""Protobuf as columns: what the plain form writes and reads row by row, for all rows at once."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import (
    INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
)
from hearth_api.batch import column_to_values, values_to_column
from hearth_registry.proto_wire import varint
from hearth_registry.schema_format import PayloadReader
from tests.profile import decoder_settings
from tests.unit.plugins.registry.test_json_schema_text import struct
from tests.unit.plugins.registry.test_protobuf_format import ALL, ENUM, READS, WRITES, reader, structs, writer

UTC = dt.timezone.utc
COLOR = (
    SchemaBuilder.string()
    .name("Color")
    .parameters({ENUM: "Color", f"{ENUM}.RED": "0", f"{ENUM}.BLUE": "300"})
    .optional()
)
LOGICAL = (
    struct(
        day=Date.builder().optional().build(),
        time=Time.builder().optional().build(),
        at=Timestamp.builder().optional().build(),
        amount=Decimal.builder(2).optional().build(),
        color=COLOR.build(),
        number=SchemaBuilder.int32().default(7).optional().build(),
    )
    .name("Logical")
    .build()
)
WRITES_LOGICAL, READS_LOGICAL = writer(LOGICAL), reader(LOGICAL)


def read(reads: PayloadReader, payloads: list[bytes]) -> list[Any]:
    """Return the values of payloads, read as a column; None of a batch that is refused."""
    found = reads.values(pa.array(payloads, pa.binary()))
    assert found is not NotImplemented
    return column_to_values(reads.schema, found)


def same(values: list[Any]) -> list[str]:
    """Return texts of values, in which all NaN are equal."""
    return [str(value) for value in values]


@settings(max_examples=15, deadline=None)
@given(st.lists(structs(), min_size=2, max_size=5))
def test_columns_of_all_types_are_written_and_read_as_rows_are(values: list[Struct]) -> None:
    """Lists and maps, too; maps are left to the plain form when they are read."""
    payloads = [WRITES.payload(value) for value in values]
    assert WRITES.payloads(values_to_column(ALL, values), b"\0id").to_pylist() == [b"\0id" + each for each in payloads]
    assert same(read(READS, payloads)) == same([READS.value(each) for each in payloads])


def _to_millis(value: Any) -> Any:
    return value.replace(microsecond=value.microsecond // 1000 * 1000)


LOGICALS = st.builds(
    lambda *parts: Struct.unchecked(LOGICAL, parts),
    st.none() | st.dates(),
    st.none() | st.times().map(_to_millis),
    st.none() | st.datetimes(timezones=st.just(UTC)).map(_to_millis),
    st.none() | st.decimals(-(10**9), 10**9, places=2),
    st.none() | st.sampled_from(["RED", "BLUE"]),
    st.none() | st.integers(-(2**31), 2**31 - 1),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(LOGICALS, min_size=2, max_size=5))
def test_logical_types_and_enums_are_written_and_read_as_rows_are(values: list[Struct]) -> None:
    """Days before 1970, moments with fractions, decimals of any length, and defaults for nulls."""
    writes, reads = WRITES_LOGICAL, READS_LOGICAL
    payloads = [writes.payload(value) for value in values]
    assert writes.payloads(values_to_column(LOGICAL, values), b"").to_pylist() == payloads
    assert read(reads, payloads) == [reads.value(each) for each in payloads]


_FIELDS = """
    0805 0880 10ffffffffffffffffff01 1801 2d01000000 3a0161 3a02 3a01ff 42020801
    420108 4a0a08e10f100d1812 4a0508e10f1002 4a00 5200 5a00 5a020a00 62030a0101 62050a01011801
    7801 f801 0b0c c00c01 0800 80 420408010802 a00101 a20103010203
    a201020180 a20100 aa0100 aa01020805 aa010308058a b2010161 b20100 ba01020801 f80105
    c20c0161 c20c00
"""
PIECES = st.sampled_from(_FIELDS.split())
MIXED = (
    'syntax = "proto3"; import "google/type/date.proto"; import "google/type/timeofday.proto";'
    'import "google/protobuf/timestamp.proto"; import "confluent/type/decimal.proto";'
    "message M { int32 a = 1; int64 b = 2; bool c = 3; fixed32 e = 5; string g = 7; N n = 8; google.type.Date d = 9;"
    "google.type.TimeOfDay t = 10; google.protobuf.Timestamp s = 11; confluent.type.Decimal x = 12; E k = 15;"
    "repeated int32 r = 20; repeated N ns = 21; repeated string rs = 22; map<int32, N> m = 23;"
    "oneof o { int32 p = 31; string q = 200; } message N { int32 y = 1; } enum E { Z = 0; Y = 1; } }"
)

READS_MIXED = reader(MIXED)


@decoder_settings()
@given(st.lists(st.lists(PIECES, max_size=4).map("".join).map(bytes.fromhex), min_size=2, max_size=4))
def test_rows_of_any_bytes_are_read_or_refused_as_the_plain_form_does(payloads: list[bytes]) -> None:
    """Fields in any order and repeated, lists and oneofs, truncated, of other wire types, invalid dates."""
    reads = READS_MIXED
    try:
        expected = [reads.value(payload) for payload in payloads]
        values_to_column(reads.schema, expected)
    except ConnectError:
        with pytest.raises(ConnectError):
            read(reads, payloads)
        return
    assert read(reads, payloads) == expected


MEMBER = SchemaBuilder.int32().optional().parameter("io.confluent.connect.protobuf.Tag", "1").build()
UNION = SchemaBuilder.struct().name("io.confluent.connect.protobuf.Union.u").field("a", MEMBER).optional().build()


@pytest.mark.parametrize(
    ("inner", "value"),
    [
        (SchemaBuilder.array(OPTIONAL_INT64_SCHEMA).build(), [1, None]),
        (COLOR.build(), "GREEN"),
        (UNION, Struct(UNION)),
        (Decimal.schema(0), decimal.Decimal(10**30)),
    ],
)
def test_unsupported_columns_are_left_to_the_plain_form(inner: Schema, value: Any) -> None:
    """Nulls in lists, unknown symbols, oneofs without a value, decimals with many digits."""
    schema = struct(l=inner).build()
    column = values_to_column(schema, [Struct.unchecked(schema, [value])] * 2)
    assert writer(schema).payloads(column, b"") is NotImplemented


def test_a_column_that_is_part_of_a_longer_one_is_written_as_it_is() -> None:
    """Lists, maps and messages begin where the part begins."""
    schema = struct(
        m=SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build(),
        l=SchemaBuilder.array(STRING_SCHEMA).build(),
        s=struct(x=INT32_SCHEMA).name("S").optional().build(),
    ).build()
    inner = schema.fields[2].schema
    values = [
        Struct.unchecked(schema, [{str(number): number}, ["a"] * number, Struct(inner).put("x", number)])
        for number in range(6)
    ]
    column = values_to_column(schema, values).slice(2, 3)
    expected = [writer(schema).payload(value) for value in values[2:5]]
    assert writer(schema).payloads(column, b"").to_pylist() == expected


def test_scales_that_are_not_the_schemas_are_made_so() -> None:
    """Two forms, one value."""
    schema = struct(x=Decimal.schema(2)).build()
    payload = bytes.fromhex("0a07" + "0a0105" + "1001" + "1801")  # 0.5
    assert [each.get("x") for each in read(reader(schema), [payload] * 3)] == [decimal.Decimal("0.50")] * 3


LISTS = (
    'syntax = "proto3"; message M { repeated int32 a = 1; repeated N n = 2;'
    " oneof o { int32 p = 3; N q = 4; string s = 5; }"
    " message N { int32 x = 1; repeated string t = 2; repeated N2 n2 = 3; } message N2 { repeated int32 z = 1; } }"
)


def test_lists_and_oneofs_are_read_and_written_as_rows_are() -> None:
    """Packed or not, in each other, and of very different lengths, which the plain form reads."""
    item = bytes.fromhex("1207" + "0801" + "120161" + "1a00")
    payloads = [
        bytes.fromhex("0a03010203") + item + b"\x18\x00", bytes.fromhex("08010802") + item * 3,
        b"\x22\x02\x08\x05",
        b"\x2a\x01x", b"", item * 40, bytes.fromhex("12061a040a020506") + b"\x2a\x00",
    ]  # fmt: skip
    reads = reader(LISTS)
    for rows in (payloads, payloads * 20, payloads[:5] * 50):
        values = [reads.value(each) for each in rows]
        assert read(reads, rows) == values
        assert reads.schema is not None
        writes = writer(reads.schema)
        column = writes.payloads(values_to_column(reads.schema, values), b"\0")
        assert column.to_pylist() == [b"\0" + writes.payload(value) for value in values]


def test_few_rows_go_one_by_one() -> None:
    """To begin with columns takes as long as some sixty rows."""
    assert WRITES.payloads(values_to_column(ALL, [Struct(ALL)]), b"") is NotImplemented
    assert READS.values(pa.array([b""], pa.binary())) is NotImplemented


WRAPPING = """syntax = "proto3"; import "google/protobuf/wrappers.proto";
message M {
  google.protobuf.StringValue text = 1; repeated google.protobuf.Int32Value numbers = 2;
  oneof choice { google.protobuf.BoolValue yes = 3; google.protobuf.BytesValue raw = 4; }
  google.protobuf.UInt32Value big = 5; map<string, google.protobuf.DoubleValue> named = 6; In inner = 7;
  message In { google.protobuf.Int64Value deep = 1; }
}"""
READS_WRAPPED = reader(WRAPPING)


def _part(number: int, contents: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Return messages in a field, of few bytes each."""
    return contents.map(lambda content: bytes([number << 3 | 2, len(content)]) + content)


def _number(number: int) -> bytes:
    return b"\x08" + varint(number & (1 << 64) - 1)


_NUMBERS = st.one_of(st.just(b""), st.integers(-(2**63), 2**63 - 1).map(_number))
_TEXTS = st.one_of(st.just(b""), st.text(max_size=5).map(str.encode).map(lambda raw: b"\x0a" + varint(len(raw)) + raw))
_DOUBLES = st.one_of(st.just(b""), st.binary(min_size=8, max_size=8).map(lambda raw: b"\x09" + raw))
WRAPPED_PARTS = st.tuples(
    st.one_of(st.just(b""), _part(1, _TEXTS)),
    st.lists(_part(2, _NUMBERS), max_size=4).map(b"".join),
    st.one_of(st.just(b""), _part(3, _NUMBERS), _part(4, _TEXTS)),
    st.one_of(st.just(b""), _part(5, _NUMBERS)),
    st.lists(_part(6, _part(2, _DOUBLES)), max_size=2).map(b"".join),
    st.one_of(st.just(b""), _part(7, _part(1, _NUMBERS))),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(WRAPPED_PARTS, min_size=20, max_size=40), st.booleans())
def test_wrappers_are_read_in_columns_as_in_rows(rows: list[tuple[bytes, ...]], is_shuffled: bool) -> None:
    """Set, set to the default, not set, in lists, maps, oneofs and messages, and with fields in another order."""
    payloads = [b"".join(parts[::-1] if is_shuffled else parts) for parts in rows]
    assert same(read(READS_WRAPPED, payloads)) == same([READS_WRAPPED.value(each) for each in payloads])
