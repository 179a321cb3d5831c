"""Protobuf as a format: texts and payloads as the Java converter has them, and back."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Time,
    Timestamp,
    Type,
)
from hearth_api.batch import values_to_column
from hearth_api.java import hash_ordered
from hearth_registry import proto_schema_reader
from hearth_registry.proto_wire import varint
from hearth_registry.protobuf_converter import ProtobufConverter
from hearth_registry.protobuf_format import ProtobufFormat
from hearth_registry.protobuf_setting import ProtobufSettings
from hearth_registry.schema_format import PayloadError, PayloadReader, PayloadWriter
from hearth_registry.schema_text import PROTOBUF, SchemaText
from hearth_registry.wire_format import id_prefix
from tests.profile import decoder_settings
from tests.unit.plugins.registry.test_json_schema_text import enum, struct

TAG = "io.confluent.connect.protobuf.Tag"
TYPE = "io.confluent.connect.protobuf.Type"
ENUM = "io.confluent.connect.protobuf.Enum"
UNION = "io.confluent.connect.protobuf.Union"
UTC = dt.timezone.utc


def made(**config: str) -> ProtobufFormat:
    """Return the format; keys are written with underscores here."""
    configs = {key.replace("_", "."): value for key, value in config.items()}
    return ProtobufFormat(ProtobufSettings({"schema.registry.url": "mock://t", **configs}))


def text(schema: Schema, **config: str) -> str:
    """Return the text of a Connect schema."""
    return made(**config).schema_of(schema).text.text


def writer(schema: Schema, **config: str) -> PayloadWriter:
    """Return what writes values of a schema."""
    return made(**config).writer(schema, made(**config).schema_of(schema))


def reader(file: str | Schema, indexes: tuple[int, ...] = (), **config: str) -> PayloadReader:
    """Return what reads payloads of a file, or of that of a Connect schema."""
    proto_text = text(file, **config) if isinstance(file, Schema) else file
    return made(**config).reader(made().parse(SchemaText(PROTOBUF, proto_text), {}), indexes, None, None)


def tagged(builder: SchemaBuilder, tag: int) -> Schema:
    """Return a schema with the number of its field."""
    return builder.parameter(TAG, str(tag)).build()


INNER = struct(x=OPTIONAL_INT32_SCHEMA).name("com.acme.Inner").optional().build()
NUL = (
    struct(req=INT32_SCHEMA, opt=OPTIONAL_INT32_SCHEMA, ostr=OPTIONAL_STRING_SCHEMA, nested=INNER)
    .name("com.acme.Nul")
    .build()
)
LOGICAL = struct(
    d=Date.SCHEMA, t=Time.SCHEMA, ts=Timestamp.SCHEMA,
    dec=Decimal.builder(3).parameter("connect.decimal.precision", "8").build(),
    dec2=Decimal.builder(2).optional().build(),
).name("com.acme.Logical").build()  # fmt: skip
DOUBLE, INT = struct(a=FLOAT64_SCHEMA).build(), struct(a=INT32_SCHEMA).build()
NUL_TEXT = """syntax = "proto3";
package com.acme;

import "google/protobuf/wrappers.proto";

message Nul {
  int32 req = 1;
  google.protobuf.Int32Value opt = 2;
  google.protobuf.StringValue ostr = 3;
  Inner nested = 4;

  message Inner {
    google.protobuf.Int32Value x = 1;
  }
}
"""


def prefixed(writes: PayloadWriter, value: Any) -> str:
    """Return indexes and payload of a value in hexadecimal digits, as in a record after magic byte and id."""
    indexes = writes.message_indexes
    return (id_prefix(1, indexes)[5:] + writes.payload(value)).hex()


def test_texts_are_those_that_Java_registers() -> None:
    """Letter by letter, with the spaces of nested messages."""
    assert text(NUL, wrapper_for_nullables="true") == NUL_TEXT
    deep = struct(a=struct(b=struct(c=INT32_SCHEMA).name("C").build()).name("A").build()).build()
    assert text(deep) == (
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  A a = 1;\n\n  message A {\n    C b = 1;\n  \n'
        "    message C {\n      int32 c = 1;\n    }\n  }\n}\n"
    )
    narrow = struct(int8=INT8_SCHEMA).build()
    assert text(narrow).splitlines()[3:] == [
        "  int32 int8 = 1 [(confluent.field_meta) = {", "    params: [", "      {", '        key: "connect.type",',
        '        value: "int8"', "      }", "    ]", "  }];", "}",
    ]  # fmt: skip
    assert text(LOGICAL).splitlines()[3:7] == [
        'import "google/type/date.proto";', 'import "google/type/timeofday.proto";',
        'import "google/protobuf/timestamp.proto";', 'import "confluent/type/decimal.proto";',
    ]  # fmt: skip
    assert '        value: "8",\n        key: "precision"\n' in text(LOGICAL)
    assert text(INT32_SCHEMA).startswith('syntax = "proto3";\npackage google.protobuf;\n\noption java_package = ')
    assert '\nmessage Int32Value {\n  int32 value = 1 [json_name = "value"];\n}\n' in text(INT32_SCHEMA)


def test_fields_and_types_get_names_and_numbers_as_in_Java() -> None:
    """A tag takes no number away, a map and a struct without names get one, a type is not called as its field."""
    schema = struct(
        a=tagged(SchemaBuilder.int32(), 50),
        b=INT32_SCHEMA,
        c=SchemaBuilder.int64().parameter(TYPE, "uint32").build(),
        items=SchemaBuilder.array(struct(x=INT32_SCHEMA).name("a.b.Item").build()).build(),
        m=SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).name("attr_map").build(),
        n=SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build(),
        nested=struct(s=STRING_SCHEMA).name("nested").build(),
    ).build()
    lines = [line.strip() for line in text(schema).splitlines()]
    assert lines[3:10] == [
        "int32 a = 50;", "int32 b = 1;", "uint32 c = 2;", "repeated Item items = 3;",
        "repeated AttrMapEntry m = 4;", "repeated ConnectDefault2Entry n = 5;", "nestedMessage nested = 6;",
    ]  # fmt: skip


def test_enums_and_oneofs_are_written_in_their_groups() -> None:
    """Symbols keep the order of the parameters; members of a oneof need a number."""
    color = (
        SchemaBuilder.string().name("Color").parameters(dict(enum(ENUM, {"RED": "0", "BLUE": "7"}).parameters or {}))
    )
    color.parameter(ENUM, "Color")
    union = SchemaBuilder.struct().name(f"{UNION}.choice").optional()
    union.field("i", tagged(SchemaBuilder.int32().optional(), 11)).field(
        "s", tagged(SchemaBuilder.string().optional(), 12)
    )
    schema = struct(c=color.build(), choice_0=union.build(), z=INT32_SCHEMA).name("M").build()
    proto_text = text(schema)
    assert proto_text == (
        'syntax = "proto3";\n\nmessage M {\n  Color c = 1;\n  int32 z = 3;\n\n  oneof choice {\n    int32 i = 11;\n'
        "    string s = 12;\n  }\n\n  enum Color {\n    RED = 0;\n    BLUE = 7;\n  }\n}\n"
    )
    choice = Struct(union.build()).put("s", "")
    value = Struct(schema).put("c", "BLUE").put("choice_0", choice).put("z", 3)
    payload = writer(schema).payload(value)
    assert payload.hex() == "0807" + "1803" + "6200"
    reads = reader(schema)
    assert reads.schema is not None
    assert [field.name for field in reads.schema.fields] == ["choice_0", "c", "z"]
    assert str(reads.value(payload)) == "Struct{choice_0=Struct{s=},c=BLUE,z=3}"
    assert writer(reads.schema).payload(reads.value(payload)) == payload
    untagged = SchemaBuilder.struct().name(f"{UNION}.u").field("i", OPTIONAL_INT32_SCHEMA)
    with pytest.raises(DataError, match=r"^Field numbers must be positive integers\.$"):
        text(struct(u=untagged.build()).build())


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INT32_SCHEMA, 12, "0208080c"),
        (BOOLEAN_SCHEMA, False, "020c"),
        (BYTES_SCHEMA, b"foo", "02100a03666f6f"),
        (
            LOGICAL,
            Struct(LOGICAL)
            .put("d", dt.date(2017, 9, 18))
            .put("t", dt.time(11, 12, 13, 140000))
            .put("ts", dt.datetime(2017, 9, 18, 0, 0, 0, 123000, UTC))
            .put("dec", decimal.Decimal("12345.678")),
            "000a0708e10f10091812120b080b100c180d2080f6e0421a0b088099fccd0510c0a9d33a220a0a0400bc614e10081803",
        ),
        (DOUBLE, Struct(DOUBLE).put("a", -0.0), "0009" + "00" * 7 + "80"),
        (INT, Struct(INT).put("a", -1), "0008" + "ff" * 9 + "01"),
    ],
)  # fmt: skip
def test_payloads_are_those_of_Java(schema: Schema, value: Any, expected: str) -> None:
    """Indexes included; what is the default of its type is not written."""
    assert prefixed(writer(schema), value) == expected
    reads = reader(schema, writer(schema).message_indexes)
    assert str(reads.value(writer(schema).payload(value))) == str(value)


def test_wrappers_distinguish_null_from_a_default() -> None:
    """They are messages, which are present or absent."""
    writes = writer(NUL, wrapper_for_nullables="true")
    nested = Struct(INNER).put("x", 3)
    full = Struct(NUL).put("req", 1).put("opt", 0).put("ostr", "").put("nested", nested)
    assert prefixed(writes, full) == "00080112001a0022040a020803"
    assert prefixed(writes, Struct(NUL).put("req", 0)) == "00"
    reads = reader(NUL, wrapper_for_nullables="true")
    assert str(reads.value(bytes.fromhex("120022040a020803"))) == "Struct{req=0,opt=0,nested=Struct{x=3}}"
    assert reads.schema is not None
    assert [field.schema.optional for field in reads.schema.fields] == [False, True, True, True]


def test_optional_fields_distinguish_null_from_a_default() -> None:
    """With `optional.for.nullables` they have the word optional, and only those are optional when read."""
    config = {"optional_for_nullables": "true"}
    schema = struct(a=INT32_SCHEMA, b=OPTIONAL_INT32_SCHEMA).build()
    assert "  int32 a = 1;\n  optional int32 b = 2;\n" in text(schema, **config)
    assert writer(schema, **config).payload(Struct(schema).put("a", 0).put("b", 0)).hex() == "1000"
    reads = reader(schema, (), **config)
    assert str(reads.value(b"")) == "Struct{a=0}"
    assert reads.schema is not None
    assert [field.schema.optional for field in reads.schema.fields] == [False, True]


FOREIGN = """
// another's file
syntax = "proto2";
package other.pkg;
import "google/protobuf/wrappers.proto";
import "more.proto";
option java_package = "x.y"; /* ; */
message First { required int32 id = 1; reserved 4, 5 to 9; extensions 100 to max; }
message Second {
  optional string name = 1 [default = "no\\"body", deprecated = true];
  repeated Kind kinds = 2 [packed = true];
  map<string, Inner> inners = 3;
  message Inner { optional sint64 deep = 1; oneof one { string s = 2; bytes b = 3; } }
  oneof pick { uint32 u = 4; fixed32 f = 5; more.Away away = 6; }
  enum Kind { option allow_alias = true; A = 0; B = -1; reserved 3; }
  optional google.protobuf.StringValue wrapped = 7;
}
service Names { rpc Get (First) returns (stream Second) { option (x) = { a: 1 }; } }
extend First { optional int32 more = 100; }
"""
MORE = 'syntax = "proto3"; package more; message Away { optional int32 a = 1; }'


def test_a_file_of_others_is_read_as_Java_reads_it() -> None:
    """With its proto2, its maps, its oneofs, and what it imports."""
    form = made().parse(SchemaText(PROTOBUF, FOREIGN), {"more.proto": MORE})
    reads = made().reader(form, (1,), None, 3)
    assert reads.schema is not None
    assert (reads.schema.name, reads.schema.version) == ("Second", 3)
    assert [field.name for field in reads.schema.fields] == ["pick_0", "name", "kinds", "inners", "wrapped"]
    kinds, inners, wrapped = (reads.schema.fields[place].schema for place in (2, 3, 4))
    assert (kinds.type, inners.type, inners.name) == (Type.ARRAY, Type.MAP, "inners")
    assert wrapped == tagged(SchemaBuilder.string().optional(), 7)
    inner = "0801" + "1a0162"
    payload = bytes.fromhex("0a0178" + "1000" + "1202" + "0000")
    payload += bytes.fromhex("1a0a" + "0a016b" + "1205" + inner) + bytes.fromhex("2005" + "2dffffffff" + "3a030a0177")
    assert reads.value(payload).get("pick_0").get("f") == 4294967295
    assert reads.value(payload).get("inners")["k"].get("deep") == -1
    value = reads.value(payload)
    assert (value.get("kinds"), value.get("wrapped"), value.get("name")) == (["A", "A", "A"], "w", "x")
    assert reads.value(b"").get("name") is None
    lenient = made(optional_for_proto2="false").reader(form, (1,), None, None)
    assert lenient.value(b"").get("name") == 'no"body'
    with pytest.raises(PayloadError, match="Message missing required fields: id"):
        made().reader(form, (), None, None).value(b"")


def test_settings_change_how_a_file_is_read() -> None:
    """Names with their packages, numbers of enums, unions flat or general, structs for what is not set."""
    form = made().parse(SchemaText(PROTOBUF, FOREIGN), {"more.proto": MORE})

    def read(**config: str) -> PayloadReader:
        return made(**config).reader(form, (1,), None, None)

    def schema(**config: str) -> Schema:
        found = read(**config).schema
        assert found is not None
        return found

    enhanced = schema(enhanced_protobuf_schema_support="true")
    assert (enhanced.name, enhanced.fields[0].schema.name) == ("other.pkg.Second", f"{UNION}.other.pkg.Second.pick")
    assert schema(int_for_enums="true").field("kinds").schema.value_schema.type is Type.INT32  # type: ignore[union-attr]
    assert schema(generate_index_for_unions="false").fields[0].name == "pick"
    assert [field.name for field in schema(flatten_unions="true").fields][:3] == ["u", "f", "away"]
    assert read(flatten_unions="true").value(b"\x20\x05").get("u") == 5
    assert schema(generalized_sum_type_support="true").fields[0].schema.name == "pick"
    assert read(generate_struct_for_nulls="true").value(b"").get("wrapped") == ""
    assert schema(wrapper_for_nullables="true").field("wrapped").schema.type is Type.STRING  # type: ignore[union-attr]
    raw = reader(INT32_SCHEMA, (4,), wrapper_for_raw_primitives="false")
    assert str(raw.value(b"\x08\x0c")) == "Struct{value=12}"


WRAPPERS = {
    "Double": (Type.FLOAT64, 1.5, "09000000000000f83f", 0.0), "Float": (Type.FLOAT32, 1.5, "0d0000c03f", 0.0),
    "Int64": (Type.INT64, -1, "08ffffffffffffffffff01", 0), "UInt64": (Type.INT64, 7, "0807", 0),
    "Int32": (Type.INT32, -1, "08ffffffffffffffffff01", 0), "UInt32": (Type.INT64, 4294967295, "08ffffffff0f", 0),
    "Bool": (Type.BOOLEAN, True, "0801", False), "String": (Type.STRING, "hé", "0a0368c3a9", ""),
    "Bytes": (Type.BYTES, b"\xff", "0a01ff", b""),
}  # fmt: skip
"""For every wrapper the type it is read as, a value with its bytes, and the value that has none."""
UNWRAPPING = [
    {}, {"optional_for_nullables": "true"}, {"enhanced_protobuf_schema_support": "true"}, {"int_for_enums": "true"},
    {"generate_index_for_unions": "false"}, {"flatten_unions": "true"}, {"generate_struct_for_nulls": "true"},
    {"wrapper_for_nullables": "true"}, {"wrapper_for_nullables": "true", "wrapper_for_raw_primitives": "false"},
]  # fmt: skip


@pytest.mark.parametrize("config", UNWRAPPING, ids=str)
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_is_a_scalar_in_every_position(name: str, config: dict[str, str]) -> None:
    """As a field, an item, a value of a map, a member of a oneof, and in a message of a message."""
    type_, value, payload, default = WRAPPERS[name]
    wrapper = f"google.protobuf.{name}Value"
    reads = reader(
        f"""syntax = "proto3"; import "google/protobuf/wrappers.proto";
        message M {{ {wrapper} one = 1; repeated {wrapper} many = 2; map<string, {wrapper}> named = 3;
                     oneof choice {{ {wrapper} member = 4; int32 other = 5; }} repeated In deep = 6;
                     message In {{ {wrapper} inner = 1; }} }}""",
        (),
        **config,
    )
    schema = reads.schema
    assert schema is not None

    def scalar(**parameters: str) -> Schema:
        named = {f"io.confluent.connect.protobuf.{name}": value for name, value in parameters.items()}
        builder = SchemaBuilder(type_).optional()
        return (builder.parameters(named) if named else builder).build()

    def field(within: Schema, name: str) -> Schema:
        found = within.field(name)
        assert found is not None
        return found.schema

    has_union, has_index = "flatten_unions" not in config, "generate_index_for_unions" not in config
    union = ("choice_0" if has_index else "choice") if has_union else None
    members = field(schema, union) if union else schema
    marked = {"Wrapper": "true"} if "wrapper_for_nullables" in config else {}
    deep = field(schema, "deep").value_schema
    assert deep is not None
    assert field(schema, "one") == field(deep, "inner") == scalar(Tag="1")
    assert field(schema, "many").value_schema == scalar()
    assert field(schema, "named").value_schema == scalar(Tag="2")
    assert field(members, "member") == scalar(**marked, Tag="4")

    message = bytes.fromhex(payload)
    inner = b"\x0a" + varint(len(message)) + message
    entry = b"\x0a\x01k\x12" + varint(len(message)) + message
    data = inner + b"\x12" + varint(len(message)) + message + b"\x12\0" + b"\x1a" + varint(len(entry)) + entry
    data += b"\x1a\x03\x0a\x01n" + b"\x22" + varint(len(message)) + message + b"\x32" + varint(len(inner)) + inner
    read = reads.value(data)
    assert (read.get("one"), read.get("many")) == (value, [value, default])
    assert read.get("named") == {"k": value, "n": default}
    assert (read.get(union) if union else read).get("member") == value
    assert read.get("deep")[0].get("inner") == value
    nothing = reads.value(b"\x0a\0")
    assert (nothing.get("one"), nothing.get("many"), nothing.get("named")) == (default, [], {})
    absent = reads.value(b"")
    assert absent.get("one") == (default if "generate_struct_for_nulls" in config else None)


def test_a_wrapper_is_read_as_a_struct_if_the_key_is_set() -> None:
    """Neither at the root nor in a message is it the value in it then."""
    proto_text = """syntax = "proto3"; import "google/protobuf/wrappers.proto";
              message M { google.protobuf.UInt32Value one = 2; }"""
    schema = reader(proto_text, wrapper_for_raw_primitives="false").schema
    assert schema is not None
    value = tagged(SchemaBuilder.int64().optional().parameter(TYPE, "uint32"), 1)
    assert schema.fields[0].schema == tagged(struct(value=value).name("UInt32Value").optional(), 2)


@pytest.mark.parametrize(
    ("schema", "value", "payload"),
    [
        (Decimal.schema(2), decimal.Decimal("1.56"), "0a02009c" + "1003" + "1802"),
        (Date.SCHEMA, dt.date(2017, 9, 18), "08e10f" + "1009" + "1812"),
        (Time.SCHEMA, dt.time(11, 12, 13, 140000), "080b" + "100c" + "180d" + "2080f6e042"),
        (Timestamp.SCHEMA, dt.datetime(2017, 9, 18, 0, 0, 0, 123000, UTC), "088099fccd05" + "10c0a9d33a"),
        (Timestamp.builder().optional().build(), dt.datetime(1970, 1, 1, tzinfo=UTC), ""),
    ],
)
def test_a_logical_type_at_the_root_is_written_as_Java_writes_it(schema: Schema, value: Any, payload: str) -> None:
    """The wrappers are registered, under the name of the carrier; the message is the own one, its index the first."""
    assert text(schema) == text(INT32_SCHEMA)
    carrier = Schema(schema.type)
    assert made().schema_of(schema).record_name == made().schema_of(carrier).record_name
    writes = writer(schema)
    assert (writes.message_indexes, writes.payload(value).hex()) == ((0,), payload)
    columns = writes.payloads(values_to_column(schema, [value] * 50), b"\0")
    assert columns.to_pylist() == [b"\0" + bytes.fromhex(payload)] * 50
    with pytest.raises(DataError, match="Invalid type for"):
        writes.payload("text")


@pytest.mark.parametrize("type_", ["uint32", "fixed32"])
@pytest.mark.parametrize(("value", "payload"), [(0, ""), (5, "0805"), (2**32 - 1, "08ffffffffffffffffff01")])
def test_unsigned_numbers_of_32_bits_are_wrapped_as_signed_ones(type_: str, value: int, payload: str) -> None:
    """Java gives them an Int32Value, as a root of the wrappers' file and in a field that is a UInt32Value."""
    number = SchemaBuilder.int64().parameter(TYPE, type_).optional().build()
    writes = writer(number)
    assert (made().schema_of(number).record_name, writes.message_indexes) == ("google.protobuf.Int64Value", (4,))
    assert writes.payload(value).hex() == payload
    config = {"wrapper_for_nullables": "true"}
    schema = struct(a=number).build()
    assert "  google.protobuf.UInt32Value a = 1;\n" in text(schema, **config)
    message = bytes.fromhex(payload)
    struct_of = Struct(schema).put("a", value)
    assert writer(schema, **config).payload(struct_of) == b"\x0a" + varint(len(message)) + message
    columns = writer(schema, **config).payloads(values_to_column(schema, [struct_of] * 50), b"")
    assert columns.to_pylist() == [b"\x0a" + varint(len(message)) + message] * 50
    assert reader(schema, (), **config).value(columns[0].as_py()).get("a") == value


def test_names_that_Protobuf_does_not_allow_may_be_scrubbed() -> None:
    """Otherwise they are refused with advice."""
    schema = struct(**{"a-b": INT32_SCHEMA, "_c": INT32_SCHEMA, "0d": INT32_SCHEMA}).name("x-y.Z").build()
    assert "package x_2Dy;" not in text(schema, scrub_invalid_names="true")
    assert "  int32 a_b = 1;\n  int32 x_c = 2;\n  int32 x0d = 3;\n" in text(schema, scrub_invalid_names="true")
    value = Struct(schema).put("a-b", 5)
    assert writer(schema, scrub_invalid_names="true").payload(value).hex() == "0805"
    with pytest.raises(DataError, match='"a-b" is not a valid identifier'):
        text(struct(**{"a-b": INT32_SCHEMA}).build())


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (SchemaBuilder.array(INT32_SCHEMA).build(), "Unsupported root schema of type ARRAY"),
        (struct(a=SchemaBuilder.array(SchemaBuilder.array(INT32_SCHEMA)).build()).build(), "Array cannot be nested"),
        (struct(a=tagged(SchemaBuilder.int32(), 1), b=INT32_SCHEMA).build(), "Field number 1 has already been used"),
        (struct(a=tagged(SchemaBuilder.int32(), 0)).build(), "Field numbers must be positive integers"),
    ],
)
def test_types_without_protobuf_form_are_refused(schema: Schema, message: str) -> None:
    """The message is Java's where it has one."""
    with pytest.raises(DataError, match=message):
        text(schema)


@pytest.mark.parametrize(
    "payload",
    ["08", "0880", "0a05", "0affffffff0f", "08" + "ff" * 11, "0a02fffe", "00", "0f", "0b", "0b" * 500, "0c", "0d00"],
)
def test_bytes_that_are_no_message_are_refused(payload: str) -> None:
    """Cut short, a length of four gigabytes, a number without end, bad UTF-8, a tag of zero, groups without end."""
    with pytest.raises(PayloadError, match=r"[Pp]rotocol message"):
        reader('syntax = "proto3"; message M { string s = 1; }').value(bytes.fromhex(payload))


@pytest.mark.parametrize(
    "proto_text",
    ["{", "message", "message M {", "message M { int32 a = x; }", "message M { Gone a = 1; }", 'import "gone.proto";',
     'message M { int32 a = 1 [(confluent.field_meta) = { params: 5 }]; }', "message M {" * 500, "x = 1;" * 3,
     "message M { group G = 1 {} }", "enum E { A = z; }", "message M { int32 a = 1 "],
)  # fmt: skip
def test_texts_that_are_no_file_are_refused(proto_text: str) -> None:
    """A registry may hold anything."""
    with pytest.raises(PayloadError, match=r"Protobuf schema|is not defined"):
        reader(proto_text)


def test_a_file_without_messages_is_refused() -> None:
    """It has nothing to read."""
    with pytest.raises(PayloadError, match="has no message at the indexes"):
        reader('syntax = "proto3";')


def test_a_file_that_grows_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message holds the next one nine times."""
    monkeypatch.setattr(proto_schema_reader, "PARTS_AT_MOST", 5000)
    messages = "".join(
        f"message M{n} {{ {' '.join(f'M{n + 1} f{i} = {i};' for i in range(1, 10))} }}" for n in range(9)
    )
    with pytest.raises(DataError, match="has more than 5000 parts"):
        reader(f'syntax = "proto3"; {messages} message M9 {{ int32 a = 1; }}')


def test_nulls_and_wrong_values() -> None:
    """A null in a list or a map becomes the default, a missing one is not written, another type is refused."""
    schema = struct(
        l=SchemaBuilder.array(OPTIONAL_INT64_SCHEMA).build(),
        m=SchemaBuilder.map(STRING_SCHEMA, OPTIONAL_STRING_SCHEMA).build(),
    ).build()
    value = Struct.unchecked(schema, [[1, None], {"a": None, "": "x"}])
    assert writer(schema).payload(value).hex() == "0a020100" + "12030a0161" + "1203120178"
    assert str(reader(schema).value(writer(schema).payload(value))) == "Struct{l=[1, 0],m={=x, a=}}"
    assert writer(schema).payload(Struct.unchecked(schema, [[], {}])) == b""
    with pytest.raises(DataError, match="Invalid type for ARRAY"):
        writer(schema).payload(Struct.unchecked(schema, [3, None]))
    with pytest.raises(DataError, match="Mismatching struct schema"):
        writer(schema).payload(Struct(INNER))
    assert made().null_is_tombstone(schema)
    with pytest.raises(DataError, match="data without a schema cannot be written with Protobuf"):
        made().writer(None, made().schema_of(None)).payload(1)


KINDS = {
    "int32": Type.INT32, "sint32": Type.INT32, "sfixed32": Type.INT32, "int64": Type.INT64, "uint64": Type.INT64,
    "sint64": Type.INT64, "sfixed64": Type.INT64, "fixed64": Type.INT64, "uint32": Type.INT64, "fixed32": Type.INT64,
}  # fmt: skip
ALL = (
    struct(
        **{name: SchemaBuilder(type_).optional().parameter(TYPE, name).build() for name, type_ in KINDS.items()},
        f=SchemaBuilder.float32().optional().build(),
        d=SchemaBuilder.float64().optional().build(),
        b=SchemaBuilder.boolean().optional().build(),
        s=OPTIONAL_STRING_SCHEMA,
        y=SchemaBuilder.bytes().optional().build(),
        inner=INNER,
        numbers=SchemaBuilder.array(INT32_SCHEMA).optional().build(),
        inners=SchemaBuilder.array(INNER).optional().build(),
        names=SchemaBuilder.map(STRING_SCHEMA, INT64_SCHEMA).name("names").optional().build(),
    )
    .name("com.acme.All")
    .build()
)


WRITES, READS = writer(ALL), reader(ALL)
assert READS.schema is not None
WRITES_AGAIN = writer(READS.schema)


@st.composite
def structs(draw: st.DrawFn) -> Struct:
    """Draw a struct of all kinds of fields."""
    value = Struct(ALL)
    for name, type_ in KINDS.items():
        bits = 31 if type_ is Type.INT32 else 63
        low = 0 if name in ("uint32", "fixed32") else -(2**bits)
        value.put(name, draw(st.integers(low, 2 ** (32 if low == 0 else bits) - 1)))
    value.put("f", draw(st.floats(width=32, allow_nan=False))).put("d", draw(st.floats(allow_nan=False)))
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
    value.put("b", draw(st.booleans())).put("s", draw(texts)).put("y", draw(st.binary(max_size=4)))
    inner = st.integers(-5, 5).map(lambda number: Struct(INNER).put("x", number))
    value.put("inner", draw(st.none() | inner)).put("inners", draw(st.lists(inner, max_size=3)))
    value.put("numbers", draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3)))
    return value.put(
        "names", hash_ordered(draw(st.dictionaries(texts, st.integers(-9, 9), max_size=3)), STRING_SCHEMA)
    )


@settings(max_examples=40, deadline=None)
@given(structs())
def test_written_values_are_read_again(value: Struct) -> None:
    """All scalar types, lists, messages and maps."""
    payload = WRITES.payload(value)
    read = READS.value(payload)
    assert {field.name: read.get(field.name) for field in ALL.fields if field.name not in ("inner", "inners")} == {
        field.name: value.get(field.name) for field in ALL.fields if field.name not in ("inner", "inners")
    }
    assert [*map(str, read["inners"])] == [*map(str, value["inners"])]
    assert WRITES_AGAIN.payload(read) == payload


@decoder_settings()
@given(st.binary(max_size=30))
def test_any_bytes_are_read_or_refused(payload: bytes) -> None:
    """There is no other way out."""
    try:
        READS.value(payload)
    except ConnectError:
        return


@pytest.mark.parametrize(
    ("new", "is_read"),
    [
        ("message M { int32 a = 1; string b = 2; }", True),
        ("message M { int64 a = 1; bytes b = 2; string c = 3; }", True),
        ("message M { string a = 1; string b = 2; }", False),
        ("message M { int32 a = 1; }", True),
        ("message N { int32 a = 1; }", False),
        ("message M { repeated int32 a = 1; }", False),
        ("package p; message M { int32 a = 1; string b = 2; }", False),
    ],
)
def test_a_reader_is_compatible_where_it_reads_all_that_was_written(new: str, is_read: bool) -> None:
    """The rules are those of Confluent's registry for Protobuf."""
    old = "message M { int32 a = 1; string b = 2; }"
    before, after = (made().parse(SchemaText(PROTOBUF, f'syntax = "proto3"; {each}'), {}) for each in (old, new))
    assert (made().incompatibilities(after, before) == []) is is_read


def test_a_varint_has_seven_bits_in_a_byte() -> None:
    """The lowest come first."""
    assert [varint(number).hex() for number in (0, 127, 128, 300)] == ["00", "7f", "8001", "ac02"]


def test_a_package_or_an_enum_that_protobuf_has_no_word_for_is_refused() -> None:
    """By the converter, in a sentence of its own."""
    found = ProtobufConverter()
    found.configure({"schema.registry.url": "mock://words"}, is_key=False)
    for schema, message in (
        (SchemaBuilder.struct().name("a-b.C").build(), "unexpected '-'"),
        (struct(e=SchemaBuilder.string().name("E").parameter(ENUM, "#1").build()).name("M").build(), "is not defined"),
    ):
        with pytest.raises(DataError, match=message):
            found.from_connect_data("t", schema, Struct(schema))
