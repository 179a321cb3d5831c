"""The converter of JSON Schema: what it registers, writes and reads."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hearth_api import INT32_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, DataError, SchemaAndValue, Struct
from hearth_api.batch import column_to_values, values_to_column
from hearth_registry.json_schema_converter import JsonSchemaConverter
from tests.registry_server import serving
from tests.unit.plugins.registry.test_json_schema_text import struct

POINT = struct(x=INT32_SCHEMA, name=OPTIONAL_STRING_SCHEMA).name("com.acme.Point").build()
TEXT = (
    '{"type":"object","title":"com.acme.Point","properties":{"x":{"type":"integer","connect.index":0,'
    '"connect.type":"int32"},"name":{"connect.index":1,"oneOf":[{"type":"null"},{"type":"string"}]}}}'
)


def made(url: str, **config: str) -> JsonSchemaConverter:
    """Return a converter of values; underscores in keys replace dots."""
    converter = JsonSchemaConverter()
    configs = {key.replace("_", "."): value for key, value in config.items()}
    converter.configure({"schema.registry.url": url, **configs}, is_key=False)
    return converter


def test_a_schema_is_registered_once_and_payloads_carry_its_id() -> None:
    """A sink gets the version of the registry."""
    with serving() as server:
        source, sink = made(server.url), made(server.url)
        values = [Struct(POINT).put("x", number).put("name", "é") for number in range(100)]
        one_by_one = [source.from_connect_data("t", POINT, value) for value in values]
        column = source.from_connect_batch("t", POINT, values_to_column(POINT, values))
        assert column.to_pylist() == one_by_one
        assert one_by_one[1] == b'\0\0\0\0\x01{"x":1,"name":"\xc3\xa9"}'
        posts = [json.loads(body) for body in map(json.dumps, server.bodies) if json.loads(body)]
        assert [body["schema"] for body in posts] == [TEXT]
        assert posts[0]["schemaType"] == "JSON"
        read = [sink.to_connect_data("t", payload) for payload in one_by_one]
        assert read[0].schema is not None
        assert (read[0].schema.name, read[0].schema.version) == ("com.acme.Point", 1)
        assert [each.value.get("x") for each in read] == [*range(100)]
        (run,) = sink.to_connect_batch("t", pa.array(one_by_one, pa.binary()))
        assert [(run.schema, value) for value in column_to_values(run.schema, run.column)] == [
            (each.schema, each.value) for each in read
        ]


def test_nulls_are_written_as_the_schema_allows_them() -> None:
    """As a JSON null with an optional schema; with a required one they are refused."""
    converter = made("mock://nulls")
    assert converter.from_connect_data("t", OPTIONAL_STRING_SCHEMA, None) == b"\0\0\0\0\x01null"
    assert converter.from_connect_data("u", STRING_SCHEMA, None) is None
    assert converter.from_connect_data("u", None, None) is None
    assert converter.to_connect_data("t", b"\0\0\0\0\x01null").value is None
    assert converter.to_connect_data("t", None) == SchemaAndValue(None, None)
    column = converter.from_connect_batch("t", OPTIONAL_STRING_SCHEMA, pa.array([None, "x"]))
    assert column.to_pylist() == [b"\0\0\0\0\x01null", b'\0\0\0\0\x01"x"']


def test_a_subject_may_be_named_by_the_title() -> None:
    """With `RecordNameStrategy`; data without a schema cannot use it."""
    strategy = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
    with serving() as server:
        made(server.url, value_subject_name_strategy=strategy).from_connect_data("t", POINT, Struct(POINT).put("x", 1))
        assert any("/subjects/com.acme.Point/" in request for request in map(str, server.requests))
        with pytest.raises(DataError, match="data without a schema cannot be written with JSON Schema"):
            made(server.url).from_connect_data("t", None, {"a": 1})


def test_invalid_payloads_raise_javas_error() -> None:
    """The headline is the converter's, the cause says what is wrong."""
    converter = made("mock://words")
    converter.from_connect_data("t", POINT, Struct(POINT).put("x", 1))
    for payload in (b'\0\0\0\0\x01{"x"', b"\x05", b""):
        with pytest.raises(DataError, match=r"^Converting byte\[\] to Kafka Connect data failed due to serialization"):
            converter.to_connect_data("t", payload)
