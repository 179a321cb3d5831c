"""Schemas and values of Connect, with the texts and payloads of Confluent's classes 8.3 in Avro."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import Any

from hearth_api import (
    BYTES_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
)
from hearth_registry.avro_name import ENUM, FIXED_SIZE, GENERAL_ENUM, GENERAL_UNION, PRECISION, UNION
from hearth_registry.avro_setting import AvroSettings


@dataclass(frozen=True)
class Case:
    """A schema with settings, the text of its Avro schema, and values with their payloads in hexadecimal digits."""

    name: str
    schema: Schema
    text: str
    values: tuple[tuple[Any, str], ...] = ()
    config: dict[str, str] = field(default_factory=dict)


def configured(**config: str) -> AvroSettings:
    """Return settings with the required ones added."""
    return AvroSettings({"schema.registry.url": "mock://s", **config})


def struct(schema: Schema, **values: Any) -> Struct:
    """Return a struct."""
    made = Struct(schema)
    for name, value in values.items():
        made.put(name, value)
    return made


INNER = SchemaBuilder.struct().field("value", INT64_SCHEMA).optional().build()
TEST_SCHEMA = (
    SchemaBuilder.struct().name("io.confluent.test.TestSchema").version(12).doc("doc").field("int32", INT32_SCHEMA)
).build()
OPT = (
    SchemaBuilder.struct().name("com.acme.Opt")
    .field("a", SchemaBuilder.int32().optional().default(5)).field("b", OPTIONAL_INT32_SCHEMA)
    .field("c", SchemaBuilder.string().default("x")).build()
)  # fmt: skip
DEFAULTS = (
    SchemaBuilder.struct().field("bytes", SchemaBuilder.bytes().default(b"foo").doc("bytes field"))
    .field("decimal", Decimal.builder(5).default(Number("3.14159")).doc("decimal field")).build()
)  # fmt: skip
COLOR = (
    SchemaBuilder.string()
    .name("com.acme.Color")
    .parameters({ENUM: "com.acme.Color", f"{ENUM}.RED": "RED", f"{ENUM}.BLUE": "BLUE"})
)
TEST1 = SchemaBuilder.struct().name("Test1").field("test", INT32_SCHEMA).optional().build()
EITHER = (
    SchemaBuilder.struct().name(UNION).optional().field("int", OPTIONAL_INT32_SCHEMA)
    .field("string", OPTIONAL_STRING_SCHEMA).field("Test1", TEST1).build()
)  # fmt: skip
USER = (
    SchemaBuilder.struct().name("com.example.User").version(1).doc("A user")
    .field("id", SchemaBuilder.int64().doc("key")).field("email", SchemaBuilder.string().optional().doc("mail"))
    .build()
)  # fmt: skip
DOCUMENTED = (
    SchemaBuilder.struct().name("a.B").doc("of the record").version(3)
    .field("x", SchemaBuilder.int32().doc("of x").default(4))
    .field("y", SchemaBuilder.string().optional().parameter("k", "v")).build()
)  # fmt: skip
PLAIN_COLOR = (
    SchemaBuilder.string()
    .name("q.Color")
    .parameters({GENERAL_ENUM: "q.Color", f"{GENERAL_ENUM}.RED": "0", f"{GENERAL_ENUM}.BLUE": "1"})
)
PLAIN_EITHER = (
    SchemaBuilder.struct().name("connect_union_0").parameter(GENERAL_UNION, "connect_union_0")
    .field("connect_union_field_0", OPTIONAL_INT32_SCHEMA).field("connect_union_field_1", OPTIONAL_STRING_SCHEMA)
    .build()
)  # fmt: skip
NESTED = (
    SchemaBuilder.struct().name("n.S")
    .field("a", SchemaBuilder.struct().name("T").field("b", INT8_SCHEMA))
    .field("c", SchemaBuilder.struct().name("n.T").optional()).build()
)  # fmt: skip
VARIANT = (
    SchemaBuilder.struct().name("org.apache.kafka.connect.data.Variant")
    .field("metadata", BYTES_SCHEMA).field("value", BYTES_SCHEMA)
)  # fmt: skip
ANY_VALUE = VARIANT.build()
HELD = SchemaBuilder.struct().name("a.S").field("v", ANY_VALUE).field("w", ANY_VALUE).build()
GENERAL = {"generalized.sum.type.support": "true"}
_DECIMAL = (
    '{"type":"bytes","scale":2,"precision":%s,"connect.version":1,"connect.parameters":{"scale":"2"%s},'
    '"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}'
)
CASES = [
    Case("optional text", OPTIONAL_STRING_SCHEMA, '["null","string"]', (("foo", "0206666f6f"),)),
    Case(
        "a value of any type",
        HELD,
        '{"type":"record","name":"S","namespace":"a","fields":[{"name":"v","type":{"type":"record","name":"Variant",'
        '"namespace":"confluent.type","fields":[{"name":"metadata","type":"bytes"},{"name":"value","type":"bytes"}],'
        '"logicalType":"variant","connect.name":"org.apache.kafka.connect.data.Variant"}},'
        '{"name":"w","type":"confluent.type.Variant"}],"connect.name":"a.S"}',
        ((struct(HELD, v=struct(ANY_VALUE, metadata=b"m", value=b"v"), w=struct(ANY_VALUE, metadata=b"", value=b"")),
          "026d02760000"),),
    ),
    Case(
        "a struct twice",
        SchemaBuilder.struct().field("struct", INNER).field("array", SchemaBuilder.array(INNER)).build(),
        '{"type":"record","name":"ConnectDefault","namespace":"io.confluent.connect.avro","fields":[{"name":"struct",'
        '"type":["null",{"type":"record","name":"ConnectDefault2","fields":[{"name":"value","type":"long"}]}],'
        '"default":null},{"name":"array","type":{"type":"array","items":["null","ConnectDefault2"]}}]}',
    ),
    Case(
        "doc and version", TEST_SCHEMA,
        '{"type":"record","name":"TestSchema","namespace":"io.confluent.test","fields":[{"name":"int32","type":"int"}]'
        ',"connect.doc":"doc","connect.version":12,"connect.name":"io.confluent.test.TestSchema"}',
        ((struct(TEST_SCHEMA, int32=12), "18"),),
    ),
    Case(
        "defaults", OPT,
        '{"type":"record","name":"Opt","namespace":"com.acme","fields":[{"name":"a","type":[{"type":"int",'
        '"connect.default":5},"null"],"default":5},{"name":"b","type":["null","int"],"default":null},{"name":"c",'
        '"type":{"type":"string","connect.default":"x"},"default":"x"}],"connect.name":"com.acme.Opt"}',
        ((struct(OPT, c="y"), "000a000279"), (struct(OPT, a=7, b=8, c="y"), "000e02100279")),
    ),
    Case(
        "defaults in bytes", DEFAULTS,
        '{"type":"record","name":"ConnectDefault","namespace":"io.confluent.connect.avro","fields":['
        '{"name":"bytes","type":{"type":"bytes","connect.doc":"bytes field","connect.default":"foo"},"default":"foo"},'
        '{"name":"decimal","type":{"type":"bytes","scale":5,"precision":64,"connect.doc":"decimal field",'
        '"connect.version":1,"connect.parameters":{"scale":"5"},"connect.default":"\\u0004\u00cb/",'
        '"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"},"default":"\\u0004\u00cb/"}]}',
    ),
    Case(
        "decimal", Decimal.schema(2), _DECIMAL % (64, ""),
        ((Number("1.56"), "009c"), (Number("-1.56"), "ff64")),
    ),
    Case(
        "decimal with precision",
        Decimal.builder(2).parameter("connect.decimal.precision", "10").build(),
        _DECIMAL % (10, ',"connect.decimal.precision":"10"'), ((Number("1.56"), "009c"),),
    ),
    Case(
        "map", SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build(), '{"type":"map","values":"int"}',
        (({"a": 1, "b": 2, "foo": 4, "zeta": 3}, "08087a6574610602610202620406666f6f0800"),),
    ),
    Case(
        "map with optional keys",
        SchemaBuilder.map(OPTIONAL_STRING_SCHEMA, OPTIONAL_STRING_SCHEMA).build(),
        '{"type":"map","values":["null","string"]}', (({"k": "v"}, "02026b02027600"),),
        {"allow.optional.map.keys": "true"},
    ),
    Case(
        "map as array",
        SchemaBuilder.map(OPTIONAL_STRING_SCHEMA, INT32_SCHEMA).name("foo.bar").build(),
        '{"type":"array","items":{"type":"record","name":"bar","namespace":"foo","fields":[{"name":"key","type":'
        '["null","string"],"default":null},{"name":"value","type":"int"}],"connect.internal.type":"MapEntry"},'
        '"connect.name":"foo.bar"}',
        (({"k": 1}, "0202026b0200"),),
    ),
    Case(
        "enum", COLOR.build(),
        '{"type":"enum","name":"Color","namespace":"com.acme","symbols":["RED","BLUE"],"connect.parameters":'
        '{"io.confluent.connect.avro.Enum":"com.acme.Color","io.confluent.connect.avro.Enum.RED":"RED",'
        '"io.confluent.connect.avro.Enum.BLUE":"BLUE"},"connect.name":"com.acme.Color"}',
        (("BLUE", "02"),), {"enhanced.avro.schema.support": "true"},
    ),
    Case(
        "union", EITHER,
        '["null","int","string",{"type":"record","name":"Test1","fields":[{"name":"test","type":"int"}],'
        '"connect.name":"Test1"}]',
        (
            (struct(EITHER, int=12), "0218"), (struct(EITHER, string="x"), "040278"),
            (struct(EITHER, Test1=struct(TEST1, test=1)), "0602"),
        ),
    ),
    Case(
        "user", USER,
        '{"type":"record","name":"User","namespace":"com.example","fields":[{"name":"id","type":{"type":"long",'
        '"connect.doc":"key"}},{"name":"email","type":["null",{"type":"string","connect.doc":"mail"}],"default":null}]'
        ',"connect.doc":"A user","connect.version":1,"connect.name":"com.example.User"}',
        ((struct(USER, id=1, email="a@b"), "020206614062"),),
    ),
    Case(
        "without what is Connect's", DOCUMENTED,
        '{"type":"record","name":"B","namespace":"a","fields":[{"name":"x","type":"int","default":4},{"name":"y",'
        '"type":["null","string"],"default":null}]}',
        ((struct(DOCUMENTED, x=1, y="z"), "0202027a"),), {"connect.meta.data": "false"},
    ),
    Case(
        "docs as they were", DOCUMENTED,
        '{"type":"record","name":"B","namespace":"a","fields":[{"name":"x","type":{"type":"int","connect.doc":"of x",'
        '"connect.default":4},"doc":"of x","default":4},{"name":"y","type":["null",{"type":"string",'
        '"connect.parameters":{"k":"v"}}],"default":null}],"connect.doc":"of the record","connect.version":3,'
        '"connect.name":"a.B"}',
        ((struct(DOCUMENTED), "0800"),), {"discard.type.doc.default": "true"},
    ),
    Case(
        "enum of any format", PLAIN_COLOR.build(),
        '{"type":"enum","name":"Color","namespace":"q","symbols":["RED","BLUE"],"connect.parameters":'
        '{"org.apache.kafka.connect.data.Enum":"q.Color","org.apache.kafka.connect.data.Enum.RED":"0",'
        '"org.apache.kafka.connect.data.Enum.BLUE":"1"},"connect.name":"q.Color"}',
        (("BLUE", "02"),), GENERAL,
    ),
    Case(
        "union of any format", PLAIN_EITHER, '["int","string"]',
        ((struct(PLAIN_EITHER, connect_union_field_1="x"), "020278"),), GENERAL,
    ),
    Case(
        "fixed", SchemaBuilder.bytes().name("x.F").parameter(FIXED_SIZE, "3").build(),
        '{"type":"fixed","name":"F","namespace":"x","size":3,"connect.parameters":{"connect.fixed.size":"3"},'
        '"connect.name":"x.F"}',
        ((b"abc", "616263"),),
    ),
    Case(
        "decimal in fixed", Decimal.builder(2).parameter(PRECISION, "8").parameter(FIXED_SIZE, "4").build(),
        '{"type":"fixed","name":"Decimal","namespace":"org.apache.kafka.connect.data","size":4,"scale":2,"precision":8,'
        '"connect.version":1,"connect.parameters":{"scale":"2","connect.decimal.precision":"8",'
        '"connect.fixed.size":"4"},"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}',
        ((Number("-1.56"), "ffffff64"), (Number("1.56"), "0000009c")),
    ),
    Case(
        "a bare name in a namespace", NESTED,
        '{"type":"record","name":"S","namespace":"n","fields":[{"name":"a","type":{"type":"record","name":"T",'
        '"namespace":"","fields":[{"name":"b","type":{"type":"int","connect.type":"int8"}}],"connect.name":"T"}},'
        '{"name":"c","type":["null",{"type":"record","name":"T","fields":[],"connect.name":"n.T"}],"default":null}],'
        '"connect.name":"n.S"}',
    ),
]  # fmt: skip
