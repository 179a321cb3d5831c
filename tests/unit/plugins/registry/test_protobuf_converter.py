"""The converter of Protobuf: what it registers and writes, and how Google's own library reads it."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2
from hypothesis import given, settings

from hearth_api import (
    INT8_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    SchemaAndValue,
    Struct,
)
from hearth_api.batch import column_to_values, values_to_column
from hearth_registry.proto_file import REPEATED, ProtoEnum, ProtoFile, ProtoMessage
from hearth_registry.protobuf_converter import ProtobufConverter
from hearth_registry.schema_text import PROTOBUF, Reference, SchemaText
from tests.registry_server import serving
from tests.unit.plugins.registry.test_json_schema_text import struct
from tests.unit.plugins.registry.test_protobuf_format import ALL, READS, WRITES, made, structs

POINT = struct(x=INT32_SCHEMA, name=OPTIONAL_STRING_SCHEMA).name("com.acme.Point").build()


def converter(url: str, **config: str) -> ProtobufConverter:
    """Return a converter of values; keys are written with underscores here."""
    found = ProtobufConverter()
    configs = {key.replace("_", "."): value for key, value in config.items()}
    found.configure({"schema.registry.url": url, **configs}, is_key=False)
    return found


def test_a_schema_is_registered_once_and_payloads_carry_id_and_indexes() -> None:
    """What a sink reads has the version of the registry."""
    with serving() as server:
        source, sink = converter(server.url), converter(server.url)
        values = [Struct(POINT).put("x", number).put("name", "é") for number in range(100)]
        one_by_one = [source.from_connect_data("t", POINT, value) for value in values]
        assert one_by_one[1] == b"\0\0\0\0\x01\0\x08\x01\x12\x02\xc3\xa9"
        texts = [body["schema"] for body in server.bodies if body and "schema" in body]
        assert texts == [
            'syntax = "proto3";\npackage com.acme;\n\nmessage Point {\n  int32 x = 1;\n  string name = 2;\n}\n'
        ]
        read = [sink.to_connect_data("t", payload) for payload in one_by_one]
        assert read[0].schema is not None
        assert (read[0].schema.name, read[0].schema.version) == ("Point", 1)
        assert [each.value.get("x") for each in read] == [*range(100)]
        written = source.from_connect_batch("t", POINT, values_to_column(POINT, values))
        runs = sink.to_connect_batch("t", pa.array(one_by_one, pa.binary()))
        if written is not NotImplemented:
            assert written.to_pylist() == one_by_one
            (run,) = runs
            assert column_to_values(run.schema, run.column) == [each.value for each in read]


def test_scalars_are_written_in_their_wrappers() -> None:
    """The indexes say in which; a null is a tombstone."""
    found = converter("mock://scalars")
    assert found.from_connect_data("t", INT32_SCHEMA, 12) == bytes.fromhex("0000000001" + "0208" + "080c")
    assert found.to_connect_data("t", bytes.fromhex("0000000001" + "0208" + "080c")).value == 12
    assert found.from_connect_data("t", OPTIONAL_STRING_SCHEMA, None) is None
    assert found.to_connect_data("t", None) == SchemaAndValue(None, None)


def test_an_imported_file_is_found_by_its_reference() -> None:
    """It has a subject of its own in the registry."""
    with serving() as server:
        other = 'syntax = "proto3"; package o; message Other { int32 a = 1; }'
        server.registry.register("other.proto", SchemaText(PROTOBUF, other))
        text = 'syntax = "proto3"; import "other.proto"; message M { o.Other other = 1; }'
        references = (Reference("other.proto", "other.proto", 1),)
        known = server.registry.register("t-value", SchemaText(PROTOBUF, text, references))
        assert known.schema_id is not None
        payload = b"\0" + known.schema_id.to_bytes(4, "big") + b"\0" + bytes.fromhex("0a020805")
        assert converter(server.url).to_connect_data("t", payload).value.get("other").get("a") == 5


def test_invalid_messages_raise_javas_error() -> None:
    """The headline is the converter's, the cause says what is wrong."""
    found = converter("mock://words")
    found.from_connect_data("t", STRING_SCHEMA, "x")
    for payload in (b"\0\0\0\0\x01\x02\x0e\x0a\x05", b"\x05", b"\0\0\0\0\x01\x02\x20\x08\x01"):
        with pytest.raises(DataError, match=r"^Failed to deserialize data for topic t to Protobuf:"):
            found.to_connect_data("t", payload)


def google_class(file: ProtoFile) -> Any:
    """Return the class of Google's library for the first message of a file."""
    descriptor = descriptor_pb2.FileDescriptorProto(name="all.proto", package=file.package or "", syntax="proto3")
    for message in file.messages:
        _describe(message, descriptor.message_type.add())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(descriptor)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(file.messages[0].full_name))


def _describe(message: ProtoMessage, descriptor: Any) -> None:
    descriptor.name = message.name
    for inner in message.messages:
        _describe(inner, descriptor.nested_type.add())
    for each in message.fields:
        kind = each.kind
        assert not isinstance(kind, ProtoEnum)
        field = descriptor.field.add(name=each.name, number=each.number, label=3 if each.label == REPEATED else 1)
        if isinstance(kind, ProtoMessage):
            field.type, field.type_name = field.TYPE_MESSAGE, f".{kind.full_name}"
        else:
            field.type = getattr(field, f"TYPE_{kind.upper()}")


GOOGLES = google_class(made().schema_of(ALL).file)


@settings(max_examples=60, deadline=None)
@given(structs())
def test_Googles_library_reads_and_writes_the_same_bytes(value: Struct) -> None:
    """It is the measure of the bytes, not what makes them."""
    payload = WRITES.payload(value)
    message = GOOGLES.FromString(payload)
    assert message.SerializeToString(deterministic=True) == payload
    assert READS.value(message.SerializeToString()) == READS.value(payload)


DATED = struct(day=Date.builder().build(), small=INT8_SCHEMA).name("com.acme.Dated").build()
DATE_TEXT = """syntax = "proto3";
package google.type;

option java_package = "com.google.type";
option java_outer_classname = "DateProto";
option java_multiple_files = true;
option go_package = "google.golang.org/genproto/googleapis/type/date;date";
option cc_enable_arenas = true;
option objc_class_prefix = "GTP";

message Date {
  int32 year = 1 [json_name = "year"];
  int32 month = 2 [json_name = "month"];
  int32 day = 3 [json_name = "day"];
}
"""


@pytest.mark.parametrize(
    ("strategy", "subject"), [("Default", "google/type/date.proto"), ("Qualified", "google.type.date")]
)
def test_imports_are_registered_first_where_known_types_are_not_skipped(strategy: str, subject: str) -> None:
    """Each once, under a subject of its own; schemas refer to them, also when they are read."""
    config = {
        "skip_known_types": "false",
        "reference_subject_name_strategy": (
            f"io.confluent.kafka.serializers.subject.{strategy}ReferenceSubjectNameStrategy"
        ),
    }
    value = Struct(DATED).put("day", dt.date(2026, 11, 23)).put("small", 3)
    with serving() as server:
        payload = converter(server.url, **config).from_connect_data("t", DATED, value)
        bodies = [body for body in server.bodies if body and "schema" in body]
        assert bodies[0]["schema"] == DATE_TEXT
        assert bodies[-1]["references"] == [{"name": "google/type/date.proto", "subject": subject, "version": 1}]
        assert converter(server.url).to_connect_data("t", payload).value.get("day") == dt.date(2026, 11, 23)
        again = {**config, "auto_register_schemas": "false"}
        assert converter(server.url, **again).from_connect_data("t", DATED, value) == payload
        latest = {**again, "use_latest_version": "true"}
        assert converter(server.url, **latest).from_connect_data("t", DATED, value) == payload


def test_an_import_that_is_not_registered_must_exist() -> None:
    """A missing one is not registered with the schema."""
    value = Struct(DATED).put("day", dt.date(2026, 11, 23)).put("small", 3)
    with serving() as server:
        found = converter(server.url, skip_known_types="false", reference_lookup_only="true")
        with pytest.raises(DataError, match="Failed to serialize Protobuf data"):
            found.from_connect_data("t", DATED, value)
        server.registry.register("google/type/date.proto", SchemaText(PROTOBUF, DATE_TEXT))
        assert found.from_connect_data("t", DATED, value) is not None


def test_options_of_confluents_may_be_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """According to `schema.format`; an unsupported format is logged."""
    value = Struct(DATED).put("day", dt.date(2026, 11, 23)).put("small", 3)
    for descriptor, is_there in (("ignore_extensions", False), ("serialized", True), ("", True)):
        with serving() as server:
            converter(server.url, schema_format=descriptor).from_connect_data("t", DATED, value)
            texts = [body["schema"] for body in server.bodies if body and "schema" in body]
            assert [("(confluent.field_meta)" in text) for text in texts] == [is_there]
    assert [record.getMessage() for record in caplog.records if "schema.format" in record.getMessage()] == [
        "schema.format=serialized has no effect: files are registered as text"
    ]


def test_googles_struct_is_read_though_it_holds_itself() -> None:
    """Its values are lists of values, and structs."""
    text = 'syntax = "proto3"; import "google/protobuf/struct.proto"; message M { google.protobuf.Struct s = 1; }'
    with serving() as server:
        server.registry.register("t-value", SchemaText(PROTOBUF, text))
        inner = struct_pb2.Struct()
        inner.update({"a": 1.5, "b": [True, {"c": "d"}]})
        content = inner.SerializeToString(deterministic=True)
        payload = b"\0\0\0\0\1\0\x0a" + bytes([len(content)]) + content
        fields = converter(server.url).to_connect_data("t", payload).value.get("s").get("fields")
        assert fields["a"].get("kind_0").get("number_value") == 1.5
        items = fields["b"].get("kind_0").get("list_value").get("values")
        assert items[1].get("kind_0").get("struct_value").get("fields")["c"].get("kind_0").get("string_value") == "d"
