"""The mapping between Connect and Avro gives the texts and bytes of Confluent's classes."""

from __future__ import annotations

import datetime as dt
import io
import json
import time
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import STRING_SCHEMA, DataError, Decimal, Schema, SchemaBuilder, Struct, Type
from hearth_registry.avro_format import AvroFormat, AvroSchema
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_type import text_of
from hearth_registry.schema_format import PayloadError
from hearth_registry.schema_text import AVRO, SchemaText
from tests.profile import LONG
from tests.unit.plugins.golden import schema_form, schema_of
from tests.unit.plugins.registry.avro_case import CASES, OPT, USER, Case, configured, struct
from tests.unit.plugins.registry.avro_sample import SCHEMAS, TREES, plain, values
from tests.unit.plugins.sample import build, cases

FORMAT = AvroFormat(configured())
NAMES = [case.name for case in CASES]
GOLDEN = Path(__file__).parent / "golden"
"""Answers of a copy of AvroData; `avro_question` asked for them."""
FUZZ = 10 * settings().max_examples if settings.get_current_profile_name() == LONG else settings().max_examples
"""Number of random payloads."""
LOSES = {"map with optional keys", "without what is Connect's"}
"""Cases whose Avro does not tell all that their Connect schema does."""


def parsed(tree: Any) -> AvroSchema:
    """Return a schema as the registry would."""
    return FORMAT.parse(SchemaText(AVRO, json.dumps(tree)), {})


def read(tree: Any, payload: str) -> Any:
    """Return the value of a payload in hexadecimal digits."""
    return FORMAT.reader(parsed(tree), (), None, None).value(bytes.fromhex(payload))


def resolved(written: Any, wanted: Any, payload: str) -> Any:
    """Return the value of a payload with another reader schema."""
    return FORMAT.reader(parsed(written), (), parsed(wanted), None).value(bytes.fromhex(payload))


def record(*fields: dict[str, Any], name: str = "R") -> dict[str, Any]:
    """Return the schema of a record."""
    return {"type": "record", "name": name, "fields": list(fields)}


def of(name: str, type_: Any, **more: Any) -> dict[str, Any]:
    """Return a field."""
    return {"name": name, "type": type_, **more}


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_schema_has_the_text_of_the_java_class(case: Case) -> None:
    """Letter by letter, because a registry treats another text as another schema."""
    assert AvroFormat(configured(**case.config)).schema_of(case.schema).text.text == case.text


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_payload_has_the_bytes_of_the_java_class_and_is_read_back(case: Case) -> None:
    """The schema is read back as well, as far as Avro can express it."""
    made = AvroFormat(configured(**case.config))
    schema = made.schema_of(case.schema)
    writer, reader = made.writer(case.schema, schema), made.reader(made.parse(schema.text, {}), (), None, None)
    assert reader.schema == case.schema or case.name in LOSES
    again = made.writer(reader.schema, made.schema_of(reader.schema))
    for value, payload in case.values:
        assert writer.payload(value).hex() == payload
        assert again.payload(reader.value(bytes.fromhex(payload))).hex() == payload


@given(st.data())
def test_fastavro_agrees_in_both_directions(data: st.DataObject) -> None:
    """Both give the same bytes and values, except for bytes at the root."""
    schema = data.draw(SCHEMAS.filter(lambda each: each.type is not Type.BYTES and not each.optional))
    value = data.draw(values(schema))
    made = FORMAT.schema_of(schema)
    known = fastavro.parse_schema(json.loads(made.text.text.replace('"logicalType"', '"logical"')))
    payload = FORMAT.writer(schema, made).payload(value)
    assert fastavro.schemaless_reader(io.BytesIO(payload), known, None) == plain(schema, value)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, known, plain(schema, value))
    assert out.getvalue() == payload
    assert FORMAT.reader(made, (), None, None).value(payload) == value


def test_schemas_are_read_as_a_java_class_reads_them() -> None:
    """Printed again, as a Connect schema and converted back; or with the same error message."""
    answers = cases(GOLDEN / "avro_read.jsonl")
    assert [case for case in answers if not is_read_equally(case)] == []
    assert len(answers) > 100


def is_read_equally(case: dict[str, Any]) -> bool:
    """Return whether Java's answer equals the converter's."""
    made = AvroFormat(configured(**case["config"]))
    try:
        schema = made.parse(SchemaText(AVRO, case["avro"]), {})
        found = made.reader(schema, (), None, None).schema
        again, form = made.schema_of(found).text.text, schema_form(found)
    except (DataError, PayloadError) as error:
        return str(error) == case.get("error")
    printed = text_of(schema.type)
    return (printed, form, again) == (case.get("printed"), case.get("schema"), case.get("text"))


def test_values_drawn_at_random_are_written_as_a_java_class_writes_them() -> None:
    """And are the same when they are read and written again."""
    answers = cases(GOLDEN / "avro_write.jsonl.xz")
    assert [case for case in answers if not is_written_equally(case)] == []
    assert len(answers) > 500


def is_written_equally(case: dict[str, Any]) -> bool:
    """Return whether Java's answer equals the converter's."""
    schema = schema_of(case["schema"])
    made = FORMAT.schema_of(schema)
    try:
        payload = FORMAT.writer(schema, made).payload(build(schema, case["value"]))
    except (DataError, PayloadError) as error:
        return str(error) == case.get("error")
    try:
        reader = FORMAT.reader(FORMAT.parse(made.text, {}), (), None, None)
    except DataError as error:
        return str(error).startswith("Mismatched versions")  # of a logical type, which has its own
    again = FORMAT.writer(reader.schema, FORMAT.schema_of(reader.schema)).payload(reader.value(payload))
    return made.text.text == case["text"] and payload.hex() == case["payload"] and len(again) == len(payload)


@settings(max_examples=FUZZ)
@given(st.data())
def test_random_bytes_are_read_or_refused(data: st.DataObject) -> None:
    """No other error is raised, and no memory is used beyond the payload's size."""
    schema = data.draw(SCHEMAS)
    reader = FORMAT.reader(FORMAT.schema_of(schema), (), None, None)
    payload = data.draw(st.binary(max_size=40))
    try:
        reader.value(payload)
    except (PayloadError, DataError):
        return


@settings(max_examples=FUZZ)
@given(TREES)
def test_an_invalid_schema_is_refused_as_an_error_of_the_record(tree: Any) -> None:
    """Whatever the registry answers is a schema, or an error subject to tolerance."""
    try:
        made = parsed(tree)
        FORMAT.incompatibilities(made, made)
        found = FORMAT.reader(made, (), None, None).schema
        FORMAT.schema_of(found)
    except (PayloadError, DataError):
        return


@pytest.mark.parametrize(
    ("tree", "payload"),
    [
        ("string", "feffffff0f61"),  # 2 GB
        (record(of("a", "string")), "0461"),
        ({"type": "array", "items": "int"}, "feffffffffffffffff01"),
        ({"type": "map", "values": "int"}, "80c2d72f00"),
        ({"type": "array", "items": record()}, "80c2d72f00"),
        ({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}, "80c2d72f00"),
        ("long", "ffffffffffffffffffffff"),
        (record(of("a", "int")), "ffffffffff"),
        (["null", "int"], "04"),
        (["null", "int"], "01"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "02"),
        ("double", "0000"),
        ({"type": "fixed", "name": "F", "size": 3}, "0000"),
        ("int", ""),
        ("string", "01"),
    ],
)
def test_a_false_length_allocates_nothing(tree: Any, payload: str) -> None:
    """A length beyond the payload is refused before anything is read."""
    with pytest.raises(PayloadError):
        read(tree, payload)


def test_oversized_schemas_are_refused() -> None:
    """A million fields, a short text that expands to a million, and deep nesting."""
    fields = ",".join([f'{{"name":"f{number}","type":"int"}}' for number in range(200_000)])
    doubling: Any = "int"
    for number in range(30):
        doubling = record(of("a", doubling), of("b", doubling if number == 0 else f"N{number - 1}"), name=f"N{number}")
    deep: Any = "int"
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    for text in (f'{{"type":"record","name":"R","fields":[{fields}]}}', json.dumps(doubling), "[" * 50_000):
        with pytest.raises(PayloadError):
            FORMAT.parse(SchemaText(AVRO, text), {})
    with pytest.raises(PayloadError, match="levels"):
        parsed(deep)
    with pytest.raises(PayloadError, match="a union of 1002 types is too large"):
        parsed(["null", *[record(name=f"N{number}") for number in range(1001)]])


def test_a_large_schema_has_linear_cost() -> None:
    """The fields of a record and the symbols of an enum are not compared pairwise."""
    wide = record(*[of(f"f{number}", "int", aliases=[f"a{number}"]) for number in range(3_000)])
    began = time.process_time()
    assert len(read(wide, "00" * 3_000).raw_values()) == 3_000
    assert read({"type": "enum", "name": "E", "symbols": [f"s{number}" for number in range(30_000)]}, "02") == "s1"
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("keys", "ordered"),
    [("hs re lt pu sc ta", "sc lt re hs pu ta"), ("zn mx zs oe ld be", "ld zs be mx zn oe"), ("b a", "a b")],
)
def test_a_map_has_the_order_of_javas_tables(keys: str, ordered: str) -> None:
    """Of the map into which Avro reads it, and of the map to which it is copied."""
    entries = "".join([f"{2 * len(key):02x}{key.encode().hex()}00" for key in keys.split()])
    payload = f"{2 * len(keys.split()):02x}{entries}00"
    assert list(read({"type": "map", "values": "int"}, payload)) == ordered.split()


def test_data_without_schema_uses_the_record_anything() -> None:
    """Numbers are long and double, because Python numbers have no size; an inner null is a record of nulls."""
    schema = FORMAT.schema_of(None)
    writer, reader = FORMAT.writer(None, schema), FORMAT.reader(FORMAT.parse(schema.text, {}), (), None, None)
    value = {"a": [1, None, 2.5, True], "b": {"c": "x"}, "c": [], "d": {}}
    assert reader.schema is None
    assert reader.value(writer.payload(value)) == value
    assert writer.payload("x").hex() == "000000000000" + "020278" + "0000"
    with pytest.raises(DataError, match="Unknown Java type for schemaless data: class \\[B"):
        writer.payload(b"x")


def test_a_value_that_does_not_fit_its_schema_raises_javas_error() -> None:
    """Each with the class that the value would have in Java."""
    boolean = Schema(Type.BOOLEAN)
    writer = FORMAT.writer(boolean, FORMAT.schema_of(boolean))
    with pytest.raises(DataError, match=r"Invalid type for BOOLEAN: class java\.lang\.Long"):
        writer.payload(1)
    with pytest.raises(DataError, match="Found null value for non-optional schema"):
        writer.payload(None)
    user = FORMAT.writer(USER, FORMAT.schema_of(USER))
    with pytest.raises(DataError, match="Found null value for non-optional schema"):
        user.payload(struct(USER, email="x"))
    with pytest.raises(DataError, match="Mismatching struct schema"):
        user.payload(struct(OPT, c="x"))


def test_a_schema_of_the_registry_writes_the_fields_that_it_has() -> None:
    """They are found by name, numbers grow, and what is missing is a null, if that is allowed."""
    wanted = record(of("gone", ["string", "null"]), of("email", ["string", "null"]), of("id", "double"), name="User")
    writer = FORMAT.writer(USER, parsed(wanted))
    assert writer.payload(struct(USER, id=1, email="a")).hex() == "02" + "000261" + "000000000000f03f"
    needs = FORMAT.writer(USER, parsed(record(of("gone", "string"))))
    with pytest.raises(PayloadError, match=r"null value for \(non-nullable\) string at R\.gone"):
        needs.payload(struct(USER, id=1))


def test_a_reader_schema_follows_the_resolution_rules() -> None:
    """Fields by name or alias, in its order; those that are skipped, those that have defaults; numbers that grow."""
    written = record(of("a", "int"), of("b", {"type": "array", "items": ["null", "string"]}), of("c", "string"))
    wanted = record(
        of("c", "bytes"),
        of("z", "long", aliases=["a"]),
        of("d", ["null", "int"], default=None),
        of("e", "int", default=7),
    )
    value = resolved(written, wanted, "02" + "0200" + "00" + "0278")
    assert value.raw_values() == (b"x", 1, None, 7)
    assert resolved("int", ["null", "string", "double"], "02").raw_values() == (None, 1.0)
    assert resolved(["int", "string"], "long", "0002") == 1
    with pytest.raises(PayloadError, match="Found string, expecting long"):
        resolved(["int", "string"], "long", "020278")
    with pytest.raises(PayloadError, match="missing required field e"):
        resolved(record(of("a", "int")), record(of("e", "int")), "02")
    enum = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    assert resolved(enum, {**enum, "symbols": ["C", "B"], "default": "C"}, "00") == "C"


def test_an_incompatibility_is_reported_with_its_place() -> None:
    """As required by the check before a schema of the registry is used for writing."""
    base = record(of("a", "int"))
    added = record(of("a", "long"), of("b", ["null", "string"], default=None))
    assert FORMAT.incompatibilities(parsed(added), parsed(base)) == []
    needs = record(of("a", "string"), of("b", "string"))
    assert FORMAT.incompatibilities(parsed(needs), parsed(base)) == [
        "TYPE_MISMATCH at /fields/a: reader type string, writer type int",
        "READER_FIELD_MISSING_DEFAULT_VALUE at /fields/b: b",
    ]
    enum = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
    assert FORMAT.incompatibilities(parsed({**enum, "symbols": ["A"]}), parsed(enum)) != []
    assert FORMAT.incompatibilities(parsed(["null", "int"]), parsed(["null", "string"])) != []
    tree = record(of("next", ["null", "R"]))
    assert FORMAT.incompatibilities(parsed(tree), parsed(tree)) == []


def test_referenced_texts_are_found() -> None:
    """Also one inside a text with another name."""
    texts = {"com.a.X": '{"type":"array","items":{"type":"record","name":"com.a.Y","fields":[]}}'}
    made = FORMAT.parse(
        SchemaText(AVRO, '{"type":"record","name":"com.a.R","fields":[{"name":"y","type":"Y"}]}'), texts
    )
    assert made.type.fields[0].type.name == "com.a.Y"
    assert made.record_name == "com.a.R"
    with pytest.raises(PayloadError, match="Undefined schema"):
        FORMAT.parse(SchemaText(AVRO, '"com.a.Z"'), texts)


def test_the_registrys_version_applies_to_a_root_without_one() -> None:
    """A union has none, and a version in the schema takes precedence."""
    for tree, version in ((record(), 3), (["null", record()], None), ({**record(), "connect.version": 9}, 9)):
        schema = FORMAT.reader(parsed(tree), (), None, 3).schema
        assert schema is not None
        assert schema.version == version


def test_bytes_after_a_value_are_an_error_if_configured() -> None:
    """The check is off by default."""
    assert read("int", "0203") == 1
    strict = AvroFormat(configured(**{"avro.fail.on.trailing.data": "true"}))
    with pytest.raises(PayloadError) as raised:
        strict.reader(parsed("int"), (), None, None).value(b"\x02\x03")
    assert raised.value.headline == "Trailing data found after deserializing Avro  message for id"


def test_names_are_scrubbed_as_java_does() -> None:
    """With `scrub.invalid.names`; otherwise Avro's error is raised unchanged."""
    scrub = AvroFormat(configured(**{"scrub.invalid.names": "true"}))
    schema = SchemaBuilder.struct().name("0abc.de-f").field("abc+-.*_", Schema(Type.INT32)).build()
    made = scrub.schema_of(schema)
    assert made.record_name == "x0abc.de_f"
    assert made.type.fields[0].name == "abc_2B____"
    value = Struct.unchecked(schema, [1])
    assert scrub.writer(schema, made).payload(value) == b"\x02"
    with pytest.raises(DataError, match="Illegal character in: de-f") as raised:
        FORMAT.schema_of(schema)
    assert "scrub.invalid.names=true" in (raised.value.hint or "")


@pytest.mark.parametrize(
    ("schema", "warning"),
    [
        (SchemaBuilder.struct().field("a", STRING_SCHEMA).build(), None),
        (SchemaBuilder.struct().field("d", Decimal.schema(70)).build(), "scale must be less than or equal"),
    ],
    ids=["plain", "more places than digits"],
)
def test_schemas_that_other_readers_refuse_are_reported(schema: Schema, warning: str | None) -> None:
    """Confluent's converter registers it anyway; fastavro, a common reader, refuses it."""
    form = AvroFormat(AvroSettings({"schema.registry.url": "mock://doubts"}))
    found = form.warnings(form.schema_of(schema))
    assert found == [] if warning is None else warning in found[0]


def test_a_struct_that_has_the_name_of_another_is_refused() -> None:
    """It gets the record of the other, as in Java, which lacks its fields."""
    inner = SchemaBuilder.struct().name("a.Same").field("y", STRING_SCHEMA).optional().build()
    outer = SchemaBuilder.struct().name("a.Same").field("x", STRING_SCHEMA).field("inner", inner).build()
    writer = FORMAT.writer(outer, FORMAT.schema_of(outer))
    with pytest.raises(PayloadError, match=r"a value of type STRUCT cannot be written as a\.Same"):
        writer.payload(struct(outer, x="x", inner=struct(inner, y="y")))


def test_a_record_without_fields_is_written_with_a_schema_that_has_some() -> None:
    """The fields are null or missing."""
    empty = SchemaBuilder.struct().name("R").build()
    target = parsed(record(of("a", ["null", "int"])))
    assert FORMAT.writer(empty, target).payload(Struct(empty)) == b"\0"
    with pytest.raises(PayloadError, match="null value for"):
        FORMAT.writer(empty, parsed(record(of("a", "int")))).payload(Struct(empty))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (SchemaBuilder.bytes().name("f").parameter("connect.fixed.size", "x").build(), "not a whole number: 'x'"),
        (SchemaBuilder.bytes().name("f").parameter("connect.fixed.size", "-1").build(), "less than 0: '-1'"),
        (Decimal.builder(2).parameter("connect.decimal.precision", "0").build(), "less than 1: '0'"),
        (Schema(Type.ARRAY, default=3, value_schema=STRING_SCHEMA), "Invalid type used for default value of ARRAY"),
    ],
)
def test_an_invalid_schema_parameter_is_named(schema: Schema, message: str) -> None:
    """With the parameter and its value."""
    with pytest.raises(DataError, match=message):
        FORMAT.schema_of(schema)


def test_a_logical_type_of_another_type_has_no_values() -> None:
    """Any schema may have a logical type's name."""
    text = '{"type":"float","connect.name":"org.apache.kafka.connect.data.Date"}'
    with pytest.raises(DataError, match="a schema of type FLOAT32 cannot be a"):
        FORMAT.reader(FORMAT.parse(SchemaText(AVRO, text), {}), (), None, None).value(b"\0\0\0\0")
    day = SchemaBuilder.string().name("org.apache.kafka.connect.data.Date").build()
    with pytest.raises(DataError, match=r"Invalid type for STRING: class java\.util\.Date"):
        FORMAT.writer(day, FORMAT.schema_of(day)).payload(dt.date(2026, 11, 23))
