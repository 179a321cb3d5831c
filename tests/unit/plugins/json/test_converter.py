"""The JSON converter's promises beyond the results of the Java class, and its intended differences."""

from __future__ import annotations

import decimal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import (
    FLOAT32_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    DataError,
    Date,
    Decimal,
    SchemaBuilder,
    Struct,
    Timestamp,
)
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.java import config_def_to_json
from hearth_json import JsonConverter
from tests.unit.plugins.two_forms import read_whole

PROJECT = Path(__file__).parents[4] / "plugins" / "json" / "pyproject.toml"


def converter(**config: str) -> JsonConverter:
    """Return a converter of values; underscores in names of settings replace dots."""
    made = JsonConverter()
    made.configure({name.replace("_", "."): text for name, text in config.items()}, is_key=False)
    return made


def enveloped(schema: str, payload: str) -> bytes:
    """Return a message of a schema and a payload in JSON."""
    return f'{{"schema":{schema},"payload":{payload}}}'.encode()


def test_entry_points_carry_the_name_of_kafkas_class() -> None:
    """A configuration written for Kafka Connect finds the class as converter and as header converter."""
    text = PROJECT.read_text("utf-8")
    line = '"org.apache.kafka.connect.json.JsonConverter" = "hearth_json.converter:JsonConverter"'
    for group in ("hearth.converters", "hearth.header_converters"):
        assert f'[project.entry-points."{group}"]\n{line}\n' in text


def test_version_is_that_of_the_kafka_class() -> None:
    """Users see the version of the class they know."""
    assert JsonConverter().version() == "4.3.1"


def test_keys_have_kafkas_order_and_defaults() -> None:
    """The definition shows the keys of Kafka Connect 4.3.1."""
    shown = {key["name"]: key["default_value"] for key in config_def_to_json(JsonConverter().config())}
    assert shown == {
        "converter.type": None,
        "schemas.enable": "true",
        "schemas.cache.size": "1000",
        "schema.content": None,
        "decimal.format": "BASE64",
        "replace.null.with.default": "true",
    }


@pytest.mark.parametrize(("key", "text"), [("schemas.enable", "maybe"), ("decimal.format", "HEX")])
def test_a_wrong_setting_is_named(key: str, text: str) -> None:
    """The error names key and value."""
    with pytest.raises(ConfigError, match=f"{text} for configuration {key}"):
        JsonConverter().configure({key: text}, is_key=True)


def test_a_decimal_gets_the_scale_of_its_schema() -> None:
    """A JSON number with fewer digits is filled up, in both forms; Java keeps the shorter one."""
    schema = '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}}'
    messages = [enveloped(schema, text) for text in ("1.5", "12", "1e3", "-0", "0.10")] * 4
    expected = [decimal.Decimal(text) for text in ("1.50", "12.00", "1000.00", "0.00", "0.10")] * 4
    made = converter()
    assert [str(made.to_connect_data("t", message).value) for message in messages] == [str(one) for one in expected]
    (run,) = read_whole(made, pa.array(messages, pa.binary()))
    assert column_to_values(run.schema, run.column) == expected


@pytest.mark.parametrize("text", ["1.555", "1e-10", "1e99999"])
def test_a_decimal_that_does_not_fit_its_scale_is_refused(text: str) -> None:
    """Digits are never lost, and never added without end."""
    schema = '{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"2"}}'
    with pytest.raises(DataError, match="decimal"):
        converter().to_connect_data("t", enveloped(schema, text))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ('{"type":"int32","name":"org.apache.kafka.connect.data.Date","version":1}', "2932897"),
        ('{"type":"int32","name":"org.apache.kafka.connect.data.Date","version":1}', "-719163"),
        ('{"type":"int32","name":"org.apache.kafka.connect.data.Time","version":1}', "86400000"),
        ('{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1}', "253402300800000"),
        ('{"type":"int64","name":"org.apache.kafka.connect.data.Timestamp","version":1}', "-62135596800001"),
    ],
)
def test_moments_python_cannot_hold_are_refused_in_both_forms(schema: str, text: str) -> None:
    """The years 1 to 9999 are read, others raise instead of being changed."""
    made = converter()
    with pytest.raises(DataError):
        made.to_connect_data("t", enveloped(schema, text))
    with pytest.raises(DataError):
        read_whole(made, pa.array([enveloped(schema, "0")] * 20 + [enveloped(schema, text)], pa.binary()))


@pytest.mark.parametrize("message", [b'"\xc0\x80"', b'"\xf4\x90\x80\x80"'])
def test_invalid_utf8_is_refused(message: bytes) -> None:
    """Jackson lets overlong forms and code points beyond Unicode pass; here they raise like any other wrong byte."""
    with pytest.raises(DataError):
        converter(schemas_enable="false").to_connect_data("t", message)


def test_deep_nesting_raises_a_data_error() -> None:
    """A message that is nested too deep fails like any other bad message, and not the interpreter."""
    made = converter(schemas_enable="false")
    for depth in (1001, 100_000):
        message = b"[" * depth + b"]" * depth
        with pytest.raises(DataError):
            made.to_connect_data("t", message)
        with pytest.raises(DataError):
            read_whole(made, pa.array([b"1"] * 20 + [message], pa.binary()))


@pytest.fixture
def little_room() -> Iterator[None]:
    """Use Python's own limit of calls, as when an author tries a converter."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("enable", ["true", "false"])
@pytest.mark.parametrize("depth", [100, 300, 450, 700, 980, 3000])
def test_a_value_nested_deeper_than_the_stack_is_reported(depth: int, enable: str) -> None:
    """Also what one Python's parser still reads and nothing else could hold; a hundred levels pass everywhere."""
    made = converter(schemas_enable=enable)
    for opening, closing, nest in (("[", "]", lambda value: [value]), ('{"a":', "}", lambda value: {"a": value})):
        value: Any = 1
        for _ in range(depth):
            value = nest(value)
        text = f"{opening * depth}1{closing * depth}"
        message = enveloped("null", text) if enable == "true" else text.encode()
        rows = pa.array([message] * 3, pa.binary())
        read = partial(made.to_connect_data, "t", message)
        for done in (
            partial(made.from_connect_data, "t", None, value),
            read,
            partial(read_whole, made, rows),
        ):
            try:
                done()
            except DataError:
                assert depth > 100


@pytest.mark.usefixtures("little_room")
def test_a_schema_nested_deeper_than_the_stack_is_reported() -> None:
    """As a value is, which has as many levels as its schema."""
    schema, value = INT32_SCHEMA, 1
    for _ in range(800):
        schema = SchemaBuilder.array(schema).build()
    nested = '{"type":"array","items":' * 800 + '{"type":"int32"}' + "}" * 800
    message = enveloped(nested, "[" * 800 + "1" + "]" * 800)
    for done in (
        partial(converter().from_connect_data, "t", schema, value),
        partial(converter().to_connect_data, "t", message),
        partial(read_whole, converter(), pa.array([message] * 20, pa.binary())),
    ):
        with pytest.raises(DataError):
            done()


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    """What UTF-8 cannot hold is replaced by what Java writes for it, so that columns can hold the text."""
    message = enveloped('{"type":"string"}', '"a\\ud800b"')
    assert converter().to_connect_data("t", message).value == "a?b"
    (run,) = read_whole(converter(), pa.array([message] * 20, pa.binary()))
    assert run.column.to_pylist() == ["a?b"] * 20


def test_a_lone_surrogate_is_written_as_jackson_writes_it() -> None:
    """A Python text with half a character is escaped and does not fail."""
    assert converter(schemas_enable="false").from_connect_data("t", STRING_SCHEMA, "\ud800") == b'"\\uD800"'


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (INT32_SCHEMA, 1 << 31, "Invalid type for INT32: 2147483648 is out of range"),
        (INT32_SCHEMA, True, "Invalid type for INT32: class java.lang.Boolean"),
        (Date.SCHEMA, "x", "Invalid type for Date, expected Date but was class java.lang.String"),
        (None, {1, 2}, "Java class class set does not have corresponding schema type."),
        (None, 1 << 63, "Java class class java.math.BigInteger does not have corresponding schema type."),
        (Timestamp.SCHEMA, 5, "Invalid type for Timestamp, expected Date but was class java.lang.Long"),
    ],
)
def test_a_value_that_does_not_fit_is_named(schema: Any, value: Any, message: str) -> None:
    """The error has the expected type and the value."""
    with pytest.raises(DataError) as raised:
        converter().from_connect_data("t", schema, value)
    assert str(raised.value) == message


def test_a_struct_of_another_schema_is_refused() -> None:
    """A struct is written by the schema of its record only."""
    one = SchemaBuilder.struct().field("a", INT32_SCHEMA).build()
    other = SchemaBuilder.struct().field("a", INT64_SCHEMA).build()
    for schema, struct in ((one, Struct(other)), (None, Struct(one))):
        with pytest.raises(DataError, match=r"Mismatching schema\."):
            converter().from_connect_data("t", schema, struct)


def test_wide_floats_in_a_narrow_schema_are_written_narrow() -> None:
    """Both forms write the nearest 32-bit float, whatever digits Python has."""
    made = converter(schemas_enable="false")
    for value, expected in ((0.1, b"0.1"), (1e39, b'"Infinity"'), (16777217.0, b"1.6777216E7")):
        column = values_to_column(FLOAT32_SCHEMA, [value])
        assert made.from_connect_data("t", FLOAT32_SCHEMA, value) == expected
        assert made.from_connect_batch("t", FLOAT32_SCHEMA, column).to_pylist() == [expected]


def test_many_schemas_pass_through_a_small_cache() -> None:
    """The caches forget and do not mix anything up."""
    made = converter(schemas_cache_size="2")
    for _ in range(2):
        for index in range(6):
            schema = SchemaBuilder.struct().field(f"f{index}", STRING_SCHEMA).build()
            column = values_to_column(schema, [Struct(schema).put(f"f{index}", "x")] * 20)
            (run,) = read_whole(made, made.from_connect_batch("t", schema, column))
            assert run.schema == schema
            assert run.column.equals(column)


@pytest.mark.parametrize("payload", ["null", "", "{}", '{"a":null,"b":null}', '{"a":0,"b":-0}'])
def test_batches_of_the_same_unusual_payload_are_read_as_single_ones(payload: str) -> None:
    """Columns of nothing but nulls, and rows without payload after good ones, are no special case for users."""
    made = converter()
    schema = (
        SchemaBuilder.struct().field("a", OPTIONAL_INT32_SCHEMA).field("b", OPTIONAL_INT64_SCHEMA).optional().build()
    )
    text = made._schemas.text(schema)
    read_whole(made, pa.array([enveloped(text, '{"a":1,"b":2}')] * 20, pa.binary()))
    data = pa.array([enveloped(text, payload)] * 20, pa.binary())
    try:
        expected = made.to_connect_data("t", enveloped(text, payload)).value
    except DataError:
        with pytest.raises(DataError):
            read_whole(made, data)
    else:
        (run,) = read_whole(made, data)
        assert column_to_values(run.schema, run.column) == [expected] * 20


def test_layouts_come_and_go() -> None:
    """However often a writer changes its layout, the values stay right."""
    made = converter()
    schema = SchemaBuilder.struct().field("a", OPTIONAL_INT32_SCHEMA).field("b", OPTIONAL_INT64_SCHEMA).build()
    for turn in range(12):
        space = " " * turn
        messages = [enveloped(made._schemas.text(schema), f'{{"b":{space}{row},"a":{row}}}') for row in range(20)]
        (run,) = read_whole(made, pa.array(messages, pa.binary()))
        assert run.column.field(1).to_pylist() == list(range(20))


def test_decimals_are_written_equally_in_both_forms() -> None:
    """A column of decimals becomes numbers or base64 as the setting says."""
    schema = Decimal.schema(2)
    column = values_to_column(schema, [decimal.Decimal("1.50"), decimal.Decimal("-0.01")])
    for form, expected in (("numeric", [b"1.50", b"-0.01"]), ("base64", [b'"AJY="', b'"/w=="'])):
        made = converter(schemas_enable="false", decimal_format=form)
        assert made.from_connect_batch("t", schema, column).to_pylist() == expected
