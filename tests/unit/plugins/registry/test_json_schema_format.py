"""JSON Schema as a format: payloads both ways, one at a time and as columns."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import (
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_BOOLEAN_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Timestamp,
    Type,
)
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.java import hash_ordered
from hearth_registry.json_schema_format import JsonSchemaFormat
from hearth_registry.json_schema_setting import JsonSchemaSettings
from hearth_registry.schema_format import PayloadError, PayloadReader, PayloadWriter
from hearth_registry.schema_text import JSON, SchemaText
from tests.profile import decoder_settings
from tests.unit.plugins.registry.test_json_schema_text import struct

UNION = struct(i=OPTIONAL_INT32_SCHEMA, s=OPTIONAL_STRING_SCHEMA).name("io.confluent.connect.json.OneOf").build()
INNER = struct(a=OPTIONAL_INT32_SCHEMA).name("Inner").optional().build()
ALL = struct(
    i8=INT8_SCHEMA,
    i64=INT64_SCHEMA,
    f32=FLOAT32_SCHEMA,
    f64=FLOAT64_SCHEMA,
    flag=OPTIONAL_BOOLEAN_SCHEMA,
    text=OPTIONAL_STRING_SCHEMA,
    raw=BYTES_SCHEMA,
    amount=Decimal.schema(2),
    day=Date.SCHEMA,
    at=Timestamp.SCHEMA,
    inner=INNER,
    inners=SchemaBuilder.array(INNER).build(),
    names=SchemaBuilder.map(STRING_SCHEMA, OPTIONAL_INT32_SCHEMA).build(),
    pairs=SchemaBuilder.map(INT32_SCHEMA, STRING_SCHEMA).build(),
).name("com.acme.All").build()  # fmt: skip
UTC = dt.timezone.utc


def made(**config: str) -> JsonSchemaFormat:
    """Return the format; underscores in keys replace dots."""
    configs = {key.replace("_", "."): value for key, value in config.items()}
    return JsonSchemaFormat(JsonSchemaSettings({"schema.registry.url": "mock://t", **configs}))


def writer(schema: Schema, **config: str) -> PayloadWriter:
    """Return a writer of values with a schema."""
    return made(**config).writer(schema, made(**config).schema_of(schema))


def reader(form: Any, **config: str) -> PayloadReader:
    """Return a reader for a JSON Schema, or for the one of a Connect schema."""
    text = made(**config).schema_of(form).text if isinstance(form, Schema) else SchemaText(JSON, json.dumps(form))
    return made(**config).reader(made().parse(text, {}), (), None, None)


@st.composite
def values(draw: st.DrawFn) -> Struct:
    """Draw a struct of all kinds of fields."""
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    small = st.integers(-(2**31), 2**31 - 1)
    inner = st.none() | (st.none() | small).map(lambda number: Struct(INNER).put("a", number))
    return (
        Struct(ALL)
        .put("i8", draw(st.integers(-128, 127)))
        .put("i64", draw(st.integers(-(2**63), 2**63 - 1)))
        .put("f32", draw(st.floats(width=32, allow_nan=False, allow_infinity=False)))
        .put("f64", draw(st.floats(allow_nan=False, allow_infinity=False)))
        .put("flag", draw(st.none() | st.booleans()))
        .put("text", draw(st.none() | texts))
        .put("raw", draw(st.binary(max_size=4)))
        .put("amount", draw(st.decimals(-1000, 1000, places=2)))
        .put("day", draw(st.dates()))
        .put("at", draw(st.datetimes(timezones=st.just(UTC))).replace(microsecond=5000))
        .put("inner", draw(inner))
        .put("inners", draw(st.lists(inner, max_size=2)))
        .put("names", hash_ordered(draw(st.dictionaries(texts, st.none() | small, max_size=3)), STRING_SCHEMA))
        .put("pairs", hash_ordered(draw(st.dictionaries(small, texts, max_size=3)), INT32_SCHEMA))
    )


@settings(max_examples=25, deadline=None)
@given(st.lists(values(), min_size=1, max_size=6))
def test_both_forms_agree_and_round_trip(structs: list[Struct]) -> None:
    """A column of payloads has what the record form writes, and both read it equally."""
    writes, reads = writer(ALL), reader(ALL)
    payloads = [writes.payload(value) for value in structs]
    column = writes.payloads(values_to_column(ALL, structs), b"\0id")
    assert column.to_pylist() == [b"\0id" + payload for payload in payloads]
    one_by_one = [reads.value(payload) for payload in payloads]
    read = column_to_values(ALL, reads.values(pa.array(payloads, pa.binary())))
    assert read == one_by_one
    # A negative zero is a big decimal on its way, which has none.
    assert [str(value).replace("-0.0,", "0.0,") for value in one_by_one] == [
        str(value).replace("-0.0,", "0.0,") for value in structs
    ]


READS = reader(ALL)
CUTS = st.tuples(
    st.integers(0, 400), st.integers(0, 6), st.sampled_from(["", "null", "3", '"x"', "{", "[", "}", ",", "1e400"])
)


@decoder_settings()
@given(values(), st.lists(st.lists(CUTS, max_size=2), min_size=2, max_size=3))
def test_both_forms_read_or_refuse_changed_payloads_equally(value: Struct, rows: list[list[Any]]) -> None:
    """With values replaced or removed."""
    payloads = []
    for cuts in rows:
        text = writer(ALL).payload(value).decode()
        for at, size, instead in cuts:
            text = text[:at] + instead + text[at + size :]
        payloads.append(text.encode())
    column = pa.array(payloads, pa.binary())
    try:
        expected = [READS.value(payload) for payload in payloads]
        values_to_column(READS.schema, expected)
    except ConnectError:
        with pytest.raises(ConnectError):
            READS.values(column)
        return
    assert column_to_values(READS.schema, READS.values(column)) == expected


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (FLOAT32_SCHEMA, 12.2, b"12.2"),
        (FLOAT64_SCHEMA, 1e20, b"1.0E20"),
        (FLOAT64_SCHEMA, float("nan"), b'"NaN"'),
        (STRING_SCHEMA, "é😀", b'"\xc3\xa9\\uD83D\\uDE00"'),
        (OPTIONAL_STRING_SCHEMA, None, b"null"),
        (SchemaBuilder.string().default("x").build(), None, b'"x"'),
        (SchemaBuilder.map(OPTIONAL_STRING_SCHEMA, INT32_SCHEMA).build(), {"hi": 32}, b'[{"key":"hi","value":32}]'),
        (SchemaBuilder.array(INT32_SCHEMA).build(), [1, None], b"[1,null]"),
        (UNION, Struct(UNION).put("s", "x"), b'"x"'),
        (struct(u=UNION).build(), Struct(struct(u=UNION).build()).put("u", Struct(UNION).put("i", 3)), b'{"u":3}'),
        (struct(a=INT32_SCHEMA, b=INNER).build(), Struct(struct(a=INT32_SCHEMA, b=INNER).build()), b'{"b":null}'),
    ],
)
def test_payloads_are_those_of_Java(schema: Schema, value: Any, expected: bytes) -> None:
    """A union is its value, a missing null is left out, and numbers are printed as Java prints them."""
    assert writer(schema).payload(value) == expected
    assert writer(schema).payloads(values_to_column(schema, [value, value]), b"").to_pylist() == [expected] * 2


def test_settings_change_payloads() -> None:
    """Numeric decimals keep their digits, ignored defaults are null, and lines may be broken."""
    numeric = writer(Decimal.schema(4), decimal_format="NUMERIC")
    assert [numeric.payload(decimal.Decimal(text)) for text in ("1.5600", "0.0000")] == [b"1.5600", b"0.0000"]
    schema = struct(
        a=SchemaBuilder.int32().optional().default(5).build(), b=SchemaBuilder.array(INNER).build()
    ).build()
    value = Struct(schema).put("b", [None, Struct(INNER)])
    assert writer(schema).payload(value) == b'{"a":5,"b":[null,{"a":null}]}'
    assert writer(schema, ignore_default_for_nullables="true").payload(value).startswith(b'{"a":null')
    expected = b'{\n  "a" : 5,\n  "b" : [ null, {\n    "a" : null\n  } ]\n}'
    assert writer(schema, json_indent_output="true").payload(value) == expected


def test_a_null_is_a_tombstone_only_with_a_required_schema() -> None:
    """An optional schema writes JSON's null, one with a default writes the default."""
    found = [made().null_is_tombstone(schema) for schema in (None, STRING_SCHEMA, OPTIONAL_STRING_SCHEMA)]
    assert found == [True, True, False]
    with_default = SchemaBuilder.string().default("x").build()
    assert not made().null_is_tombstone(with_default)
    assert made(ignore_default_for_nullables="true").null_is_tombstone(with_default)


def test_data_without_schema_is_refused_with_advice() -> None:
    """There is nothing to register."""
    with pytest.raises(DataError, match="data without a schema cannot be written with JSON Schema"):
        made().writer(None, made().schema_of(None)).payload({"a": 1})


def test_a_value_of_a_choice_uses_the_first_type_that_fits_or_the_closest_struct() -> None:
    """Simple types are distinguished by the kind of JSON value, structs by member names."""
    choices = [{"type": "string"}, {"properties": {"a": {"type": "integer"}}},
               {"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}]  # fmt: skip
    reads = reader({"oneOf": choices})
    chosen = [reads.value(payload).raw_values() for payload in (b'"x"', b'{"a":1}', b'{"a":1,"b":2}')]
    assert [[value is not None for value in values].index(True) for values in chosen] == [0, 1, 2]
    with pytest.raises(DataError, match="Did not find matching oneof field for data"):
        reads.value(b"3")


@pytest.mark.parametrize(
    ("form", "payload", "message"),
    [
        ({"type": "string"}, b"null", "Invalid null value for required STRING field"),
        ({"type": "object"}, b"3", "Structs should be encoded as JSON objects, but found NUMBER"),
        ({"type": "object", "connect.type": "map", "additionalProperties": {}}, b"[]", "Maps with string fields"),
        ({"type": "string"}, b'{"a"', "payload is not JSON"),
        ({"type": "string"}, b"[" * 100_000, "payload is not JSON"),
        ({"type": "integer", "connect.type": "bytes"}, b"3", "Invalid type for BYTES"),
    ],
)
def test_payloads_that_do_not_fit_are_refused(form: Any, payload: bytes, message: str) -> None:
    """Both forms refuse them with the same words."""
    for read in (reader(form).value, lambda payload: reader(form).values(pa.array([payload] * 3, pa.binary()))):
        with pytest.raises(ConnectError, match=message):
            read(payload)


def test_a_missing_member_is_null_even_if_required() -> None:
    """Java does not check it; a default replaces it if there is one."""
    form = {"properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "x"}}}
    reads = reader(form, ignore_default_for_nullables="true")  # which is for writing only, as in Java
    assert {*reads.value(b"{}").raw_values()} == {None, "x"}
    column = reads.values(pa.array([b"{}", b'{"a":"1","b":null}', b'{"a":"2","b":"y"}'], pa.binary()))
    assert column.to_pylist() == [{"a": None, "b": "x"}, {"a": "1", "b": "x"}, {"a": "2", "b": "y"}]


def test_payloads_are_validated_if_the_key_is_set() -> None:
    """Each word of the schema is one that a value may break."""
    form = {
        "type": "object", "required": ["a"], "additionalProperties": False,
        "properties": {
            "a": {"type": "integer", "minimum": 1}, "b": {"type": "string", "maxLength": 2, "pattern": "^x"},
            "c": {"oneOf": [{"type": "null"}, {"enum": ["y"]}]},
            "d": {"type": "array", "items": {"$ref": "#/properties/a"}},
        },
    }  # fmt: skip
    reads = reader(form, json_fail_invalid_schema="true")
    assert reads.value(b'{"a":1,"b":"xy","c":"y","d":[2]}') is not None
    for payload in (b"{}", b'{"a":0}', b'{"a":1.5}', b'{"a":1,"z":1}', b'{"a":1,"b":"xyz"}', b'{"a":1,"b":"y"}',
                    b'{"a":1,"c":"z"}', b'{"a":1,"d":[0]}', b"[]"):  # fmt: skip
        with pytest.raises(PayloadError, match="JSON does not match schema: #"):
            reads.value(payload)
    assert writer(Schema(Type.STRING), json_fail_invalid_schema="true").payload("x") == b'"x"'


def test_members_without_a_schema_are_left_out() -> None:
    """Unless they are kept in a field of their own, which another test covers."""
    assert str(reader({"properties": {"a": {"type": "string"}}}).value(b'{"z":1,"a":"x"}')) == "Struct{a=x}"


def test_schemas_that_hold_themselves_or_many_choices_can_be_compared() -> None:
    """What refers to itself in a choice is the same again; choices of choices of choices come to an end."""

    def compared(new: Any, old: Any) -> list[str]:
        schemas = [made().parse(SchemaText(JSON, json.dumps(each)), {}) for each in (new, old)]
        return made().incompatibilities(*schemas)

    item = {"oneOf": [{"type": "null"}, {"properties": {"next": {"$ref": "#/definitions/item"}}}]}
    linked = {"$ref": "#/definitions/item", "definitions": {"item": item}}
    assert compared({**linked, "title": "new"}, linked) == []
    deep: Any = {"type": "string"}
    for _ in range(7):
        deep = {"oneOf": [{"properties": {"a": deep}}, {"properties": {"b": deep}}]}
    assert compared({**deep, "title": "new"}, deep) in ([], ["#/: oneOf does not cover object"])


OLD: dict[str, Any] = {
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 5}},
    "required": ["a"],
}


@pytest.mark.parametrize(
    ("change", "is_read"),
    [
        ({}, True),
        ({"required": []}, True),
        ({"required": ["a", "b"]}, False),
        ({"properties": {"a": {"type": "number"}, "b": {"type": "string", "maxLength": 6}}}, True),
        ({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}, False),
        ({"properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 4}}}, False),
        ({"properties": {"a": {"type": "integer"}}}, True),
        ({"additionalProperties": False}, False),
        ({"properties": {**OLD["properties"], "c": {"type": "string"}}}, False),
        ({"properties": {**OLD["properties"], "a": {"oneOf": [{"type": "null"}, {"type": "integer"}]}}}, True),
    ],
)  # fmt: skip
def test_a_reader_is_compatible_where_it_reads_all_that_was_written(change: dict[str, Any], is_read: bool) -> None:
    """The rules are those of Confluent's registry for JSON Schema."""
    old, new = (
        made().parse(SchemaText(JSON, json.dumps({"type": "object", **each})), {}) for each in (OLD, {**OLD, **change})
    )
    assert (made().incompatibilities(new, old) == []) is is_read
