"""Schemas that hold themselves go both ways in all three formats, as far down as Python's stack reaches."""

from __future__ import annotations

import sys
import time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import DataError, Schema, SchemaBuilder, Struct
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.java import schema_to_text
from hearth_execution.stack import make_room
from hearth_registry.avro_converter import AvroConverter
from hearth_registry.json_schema_converter import JsonSchemaConverter
from hearth_registry.protobuf_converter import ProtobufConverter
from hearth_registry.registry_converter import RegistryConverter
from hearth_registry.schema_format import PayloadError
from hearth_registry.schema_text import AVRO, JSON, PROTOBUF, SchemaText
from tests.registry_server import serving
from tests.unit.hearth_api.test_schema_reference import chain, node, reference

CONVERTERS: dict[str, type[RegistryConverter]] = {
    AVRO: AvroConverter,
    JSON: JsonSchemaConverter,
    PROTOBUF: ProtobufConverter,
}
ID = "io.confluent.connect.json.Id"
AVRO_NODE = (
    '{"type":"record","name":"Node","namespace":"a","fields":[{"name":"value","type":"long"},'
    '{"name":"next","type":["null","Node"],"default":null},'
    '{"name":"children","type":["null",{"type":"array","items":"Node"}],"default":null},'
    '{"name":"named","type":["null",{"type":"map","values":["null","Node"]}],"default":null}],"connect.name":"a.Node"}'
)
JSON_TASK = (
    '{"type":"object","title":"Task","description":"A task","id":"#id1","properties":{"parent":{"$ref":"#id1"},'
    '"title":{"type":"string","description":"Task title","connect.index":1}}}'
)
PROTOBUF_PAIR = 'syntax = "proto3"; message Pair { int32 key = 1; Pair inner = 10; repeated Pair all = 11; }'


def converter(format_: str, **config: str) -> RegistryConverter:
    """Return a converter of values with a registry in memory."""
    found = CONVERTERS[format_]()
    url = f"mock://recursion-{format_}"
    found.configure({"schema.registry.url": url, "use.optional.for.nonrequired": "true", **config}, is_key=False)
    return found


def registered(format_: str, schema: Schema) -> str:
    """Return the text that a schema is registered with."""
    return converter(format_).make_format(CONVERTERS[format_].settings_type(_URL)).schema_of(schema).text.text


_URL = {"schema.registry.url": "mock://texts", "use.optional.for.nonrequired": "true"}


def reader_of(format_: str, text: str) -> Any:
    """Return what reads payloads of a schema of the registry."""
    form = converter(format_).make_format(CONVERTERS[format_].settings_type(_URL))
    return form.reader(form.parse(SchemaText(format_, text), {}), (), None, None)


def nodes(schema: Schema, depth: int = 3) -> st.SearchStrategy[Struct]:
    """Draw nodes with others inside."""
    longs = st.integers(-(2**63), 2**63 - 1)
    plain = longs.map(lambda number: Struct(schema).put("value", number))
    if depth == 0:
        return plain
    items = reference(schema, "children").value_schema
    values = reference(schema, "named").value_schema
    assert items is not None
    assert values is not None
    return st.builds(
        lambda struct, inner, children, named: (
            struct.put("next", inner).put("children", children).put("named", dict(sorted(named.items())))
        ),
        plain,
        st.none() | nodes(reference(schema), depth - 1),
        st.lists(nodes(items, depth - 1), max_size=2),
        st.dictionaries(st.sampled_from("ab"), nodes(values, depth - 1), max_size=2),
    )


NODE = node("a.Node")
WRITTEN, READ = converter(AVRO), converter(AVRO)


@given(nodes(NODE))
def test_avro_writes_and_reads_recursive_values(value: Struct) -> None:
    """What comes back is the same again, and writes the same."""
    payload = WRITTEN.from_connect_data("t", NODE, value)
    found = READ.to_connect_data("t", payload)
    assert str(found.value) == str(value)
    again = converter(AVRO, **{"auto.register.schemas": "false", "use.latest.version": "true"})
    assert again.from_connect_data("t", found.schema, found.value) == payload


def test_avro_names_a_record_inside_of_itself() -> None:
    """The text is that of Java, and the schema that is read from it the one that it was made of."""
    assert registered(AVRO, NODE) == AVRO_NODE
    assert reader_of(AVRO, AVRO_NODE).schema == NODE
    unnamed = node(None)
    text = registered(AVRO, unnamed)
    assert text.count("ConnectDefault") == 4
    assert reader_of(AVRO, text).schema == unnamed


def test_records_that_hold_each_other_are_read_by_their_names() -> None:
    """One that was found inside of itself is referred to wherever it comes again."""
    text = (
        '{"type":"record","name":"A","fields":[{"name":"b","type":["null",{"type":"record","name":"B","fields":['
        '{"name":"a","type":["null","A"]},{"name":"bs","type":{"type":"array","items":"B"}}]}]},'
        '{"name":"other","type":["null","B"]}]}'
    )
    schema = reader_of(AVRO, text).schema
    assert reference(reference(schema, "b"), "a").is_reference
    assert reference(schema, "other").is_reference
    assert str(reader_of(AVRO, text).value(bytes.fromhex("020000020200000000"))) == (
        "Struct{b=Struct{bs=[]},other=Struct{a=Struct{},bs=[]}}"
    )


def test_json_schema_refers_by_id() -> None:
    """An object inside of itself has an id and the struct a parameter with it, as in Java."""
    builder = SchemaBuilder.struct().name("Task").doc("A task").parameter(ID, "#id1")
    title = SchemaBuilder.string().doc("Task title").build()
    task = builder.field("parent", builder.itself()).field("title", title).build()
    assert registered(JSON, task) == JSON_TASK
    assert reader_of(JSON, JSON_TASK).schema.field("parent").schema.name == "Task"
    found = reader_of(JSON, JSON_TASK).value(b'{"title":"a","parent":{"title":"b"}}')
    assert str(found) == "Struct{parent=Struct{title=b},title=a}"
    with pytest.raises(DataError, match="a recursive schema has no JSON Schema without an id"):
        converter(JSON).from_connect_data("t", NODE, chain(NODE, 1))


def test_json_schema_refers_to_its_root_and_through_choices() -> None:
    """Below `$defs` and as `#`; a value that was read is written with the same id."""
    form = (
        '{"title":"Foo","$ref":"#/$defs/Foo","$defs":{"Foo":{"type":"object","properties":{"foos":{"oneOf":'
        '[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/Foo"}}]},"up":{"$ref":"#"}}}}}'
    )
    reads = reader_of(JSON, form)
    value = reads.value(b'{"foos":[{"foos":[],"up":{}},{"foos":null}],"up":{"foos":[]}}')
    assert str(value) == "Struct{up=Struct{foos=[]},foos=[Struct{up=Struct{},foos=[]}, Struct{}]}"
    assert dict(reads.schema.parameters) == {ID: "#id2"}
    payload = converter(JSON).from_connect_data("t", reads.schema, value)
    assert payload is not None
    assert payload[5:] == (
        b'{"up":{"up":null,"foos":[]},"foos":[{"up":{"up":null,"foos":null},"foos":[]},{"up":null,"foos":null}]}'
    )


def test_protobuf_names_a_message_inside_of_itself() -> None:
    """Everywhere it is optional then, the root included, and each field keeps its number."""
    reads = reader_of(PROTOBUF, PROTOBUF_PAIR)
    inner = reads.schema.field("inner").schema
    assert reads.schema.optional
    assert (inner.name, dict(inner.parameters)) == ("Pair", {"io.confluent.connect.protobuf.Tag": "10"})
    payload = bytes.fromhex("080152060802520208035a020804")
    assert str(reads.value(payload)) == (
        "Struct{key=1,inner=Struct{key=2,inner=Struct{key=3,all=[]},all=[]},all=[Struct{key=4,all=[]}]}"
    )
    text = registered(PROTOBUF, reads.schema)
    assert text == (
        'syntax = "proto3";\n\nmessage Pair {\n  int32 key = 1;\n  Pair inner = 10;\n  repeated Pair all = 11;\n}\n'
    )
    assert converter(PROTOBUF).from_connect_data("t", reads.schema, reads.value(payload)) == b"\0\0\0\0\1\0" + payload


def test_protobuf_messages_that_hold_each_other_end() -> None:
    """Through another message, in a map, and in a oneof."""
    text = (
        'syntax = "proto3"; message A { B b = 1; map<string, A> as = 2; oneof o { A one = 3; int32 two = 4; } '
        "message B { A a = 1; int32 n = 2; } }"
    )
    reads = reader_of(PROTOBUF, text)
    payload = bytes.fromhex("0a040a00100512050a017812001a00")
    assert str(reads.value(payload)) == (
        "Struct{o_0=Struct{one=Struct{as={}}},b=Struct{a=Struct{as={}},n=5},as={x=Struct{as={}}}}"
    )
    assert registered(PROTOBUF, reads.schema).count("message A {") == 1


def nested(format_: str, levels: int) -> tuple[Schema, Struct]:
    """Return a recursive schema of a format, and a value of this depth."""
    if format_ == JSON:
        schema, inner_name = reader_of(JSON, JSON_TASK).schema, "parent"
    else:
        schema, inner_name = node("Node"), "next"
    schemas = [schema]
    for _ in range(levels):
        schemas.append(reference(schemas[-1], inner_name))
    value = None
    for each in reversed(schemas):
        plain = {"value": 1, "title": "a", inner_name: value}
        value = Struct.unchecked(each, [plain.get(field.name) for field in each.fields])
    assert value is not None
    return schema, value


@pytest.mark.parametrize("format_", CONVERTERS)
def test_batches_of_it_are_left_to_the_form_for_records(format_: str) -> None:
    """Columns of such values are possible but not faster."""
    schema, value = nested(format_, 5)
    found = converter(format_)
    payload = found.from_connect_data("t", schema, value)
    assert found.to_connect_batch("t", pa.array([payload] * 100, pa.binary())) is NotImplemented
    read = found.to_connect_data("t", payload)
    column = values_to_column(read.schema, [read.value])
    assert column_to_values(read.schema, column) == [read.value]


@pytest.mark.parametrize("format_", CONVERTERS)
def test_endless_nesting_is_refused_with_a_message(format_: str) -> None:
    """A value of ten thousand levels, a payload of as many, and a record that cannot be without itself."""
    schema, value = nested(format_, 10_000)
    with pytest.raises(DataError, match="nested too deeply"):
        converter(format_).from_connect_data("deep", schema, value)
    deep = {
        AVRO: bytes.fromhex("0202") * 10_000,
        JSON: b'{"parent":' * 10_000 + b"{}" + b"}" * 10_000,
        PROTOBUF: _nested_message(3_000),
    }
    text = {AVRO: AVRO_NODE, JSON: JSON_TASK, PROTOBUF: PROTOBUF_PAIR}[format_]
    with serving() as server:
        found = CONVERTERS[format_]()
        found.configure({"schema.registry.url": server.url}, is_key=False)
        server.registry.register("t-value", SchemaText(format_, text))
        indexes = b"\0" if format_ == PROTOBUF else b""
        with pytest.raises(DataError) as failure:
            found.to_connect_data("t", b"\0\0\0\0\1" + indexes + deep[format_])
    assert any(word in repr(failure.getrepr()) for word in ("nested too deeply", "levels of nesting", "is not JSON"))


def test_messages_are_read_as_deep_as_by_the_library_of_protobuf() -> None:
    """Which counts those around a message, and stops at a hundred; what was refused leaves no trace in the reader."""
    reads = reader_of(PROTOBUF, PROTOBUF_PAIR)
    for _ in range(2):
        value = reads.value(_nested_message(100))
        for _ in range(100):
            value = value["inner"]
        assert value["inner"] is None
        with pytest.raises(PayloadError, match="Protocol message had too many levels of nesting"):
            reads.value(_nested_message(101))


def test_json_is_written_as_deep_as_by_jackson() -> None:
    """A thousand levels; the rest is an error however much room for calls there is."""
    found = converter(JSON)
    assert found.from_connect_data("t", *nested(JSON, 50)) is not None
    limit = sys.getrecursionlimit()
    make_room()
    try:
        assert found.from_connect_data("t", *nested(JSON, 999)) is not None
        with pytest.raises(DataError, match="nested too deeply") as error:
            found.from_connect_data("t", *nested(JSON, 1000))
    finally:
        sys.setrecursionlimit(limit)
    assert "nesting depth (1001)" in str(error.value.__cause__)


def test_a_record_that_cannot_be_without_itself_has_no_values() -> None:
    """Its schema can be had, and each payload of it is refused."""
    reads = reader_of(AVRO, '{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}')
    with pytest.raises(Exception, match="nested too deeply"):
        reads.value(b"")


def _nested_message(levels: int) -> bytes:
    message = b""
    for _ in range(levels):
        size = len(message)
        length = bytearray()
        while size > 0x7F:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        message = b"\x52" + bytes([*length, size]) + message
    return message


@pytest.mark.parametrize("count", [20, 60, 400])
def test_many_that_hold_each_other_cost_little_or_are_refused(count: int) -> None:
    """Each message has a field for the next one, for the first, and for itself."""
    messages = [
        f"message M{number} {{ M{(number + 1) % count} next = 1; M0 first = 2; int32 v = 3; M{number} self = 4; }}"
        for number in range(count)
    ]
    text = f'syntax = "proto3"; {" ".join(messages)}'
    began = time.process_time()
    with serving() as server:
        found = CONVERTERS[PROTOBUF]()
        found.configure({"schema.registry.url": server.url}, is_key=False)
        server.registry.register("t-value", SchemaText(PROTOBUF, text))
        payload = b"\0\0\0\0\1\0" + bytes.fromhex("0a021805")
        if count == 400:
            with pytest.raises(DataError):
                found.to_connect_data("t", payload)
        else:
            read = found.to_connect_data("t", payload)
            assert str(read.value) == "Struct{next=Struct{v=5},v=0}"
            assert len(schema_to_text(read.schema or NODE)) < 100_000
    assert time.process_time() - began < 5
