"""The column form gives the same results as the plain form, value for value and error for error."""

from __future__ import annotations

import json
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hearth_api import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT32_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
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
from hearth_api.batch import ColumnRun, column_to_values, values_to_column
from hearth_api.layout import RowTexts, rewriting, template
from hearth_api.schema import LOGICAL_KINDS, deep_key
from hearth_json import JsonConverter, column_reader, row_writer
from tests.unit.hearth_api.strategy import SCHEMALESS, TEXT, schemas, values
from tests.unit.plugins.two_forms import read_whole, row_by_row
from tests.unit.run_order import values_in_order

CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "schemas.enable": st.sampled_from(["true", "false"]),
        "decimal.format": st.sampled_from(["BASE64", "NUMERIC"]),
        "replace.null.with.default": st.sampled_from(["true", "false"]),
    },
)
FAILED = object()
slow = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=60)


@pytest.fixture(params=["compiled", "by Arrow"])
def way_of_writing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the compiled loops, and the code without them."""
    if request.param == "by Arrow":
        monkeypatch.setattr(row_writer, "_rows", None)


def converter(config: dict[str, str]) -> JsonConverter:
    """Return a converter of values."""
    made = JsonConverter()
    made.configure(config, is_key=False)
    return made


def written(made: JsonConverter, schema: Schema | None, value: Any) -> Any:
    """Return what the plain form writes, FAILED when it raises."""
    try:
        return made.from_connect_data("t", schema, value)
    except DataError:
        return FAILED


def read(made: JsonConverter, data: bytes | None) -> Any:
    """Return schema and value of the plain form, FAILED when it raises or no column could hold the value."""
    try:
        schema, value = made.to_connect_data("t", data)
        values_to_column(schema, [value])
    except DataError:
        return FAILED
    return schema, deep_key(value)


def rows_of(runs: list[ColumnRun]) -> list[Any]:
    """Return schema and value of every row."""
    return [(schema, deep_key(value)) for schema, value in values_in_order(runs)]


def assert_same_when_read(made: JsonConverter, messages: list[bytes | None]) -> None:
    """Compare the two forms on the readable rows; if there are others, the batch must raise."""
    plain = [read(made, message) for message in messages]
    good = [message for message, row in zip(messages, plain) if row is not FAILED]
    if len(good) < len(messages):
        with pytest.raises(DataError):
            read_whole(made, pa.array(messages, pa.binary()))
    runs = read_whole(made, pa.array(good, pa.binary()))
    assert rows_of(runs) == [row for row in plain if row is not FAILED]
    assert len({run.schema for run in runs}) == len(runs)


@pytest.mark.usefixtures("way_of_writing")
@slow
@given(st.data(), CONFIGS)
def test_columns_are_written_as_single_values_are(data: st.DataObject, config: dict[str, str]) -> None:
    """A column of any schema becomes the bytes of its values; it raises when one of them does."""
    schema = data.draw(schemas())
    rows = data.draw(st.lists(st.none() | values(schema), max_size=6))
    made = converter(config)
    plain = [written(made, schema, row) for row in rows]
    column = values_to_column(schema, rows)
    if FAILED in plain:
        with pytest.raises(DataError):
            made.from_connect_batch("t", schema, column)
        assert row_by_row(made, schema, rows) is None
    else:
        assert made.from_connect_batch("t", schema, column).to_pylist() == plain
        assert row_by_row(made, schema, rows) in (None, plain)


@pytest.mark.skipif(RowTexts is None, reason="nothing was compiled")
@slow
@given(st.data(), CONFIGS)
def test_packed_rows_of_plain_values_are_written_as_single_values_are(
    data: st.DataObject, config: dict[str, str]
) -> None:
    """Nested structs, lists and maps of types that JSON has, with nulls if allowed."""
    schema = data.draw(schemas().filter(is_plain))
    rows = data.draw(st.lists(values(schema), min_size=2, max_size=6))
    made = converter(config)
    plain = [written(made, schema, row) for row in rows]
    assert row_by_row(made, schema, rows) == (None if FAILED in plain else plain)


def is_plain(schema: Schema) -> bool:
    """Return whether the loops write all values of a schema."""
    if schema.type is Type.STRUCT:
        return all(is_plain(field.schema) for field in schema.fields)
    if schema.type is Type.ARRAY:
        return schema.value_schema is not None and is_plain(schema.value_schema)
    if schema.type is Type.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        is_text = schema.key_schema.type is Type.STRING and schema.key_schema.name not in LOGICAL_KINDS
        return is_text and is_plain(schema.value_schema)
    return schema.type not in (Type.BYTES, Type.FLOAT32)


@pytest.mark.usefixtures("way_of_writing")
@pytest.mark.parametrize("is_optional", [True, False])
def test_every_kind_of_value_is_written_as_single_ones_are(is_optional: bool) -> None:
    """The largest and smallest numbers, escaped texts and empty parts, in a struct and in lists of it."""
    own = {
        "byte": (Type.INT8, [-128, 127, 0]), "short": (Type.INT16, [-(1 << 15), (1 << 15) - 1, 1]),
        "int": (Type.INT32, [-(1 << 31), (1 << 31) - 1, -1]), "long": (Type.INT64, [-(1 << 63), (1 << 63) - 1, 10]),
        "flag": (Type.BOOLEAN, [True, False, True]), "data": (Type.BYTES, [b"", b"\0", b"abc"]),
        "double": (Type.FLOAT64, [-0.0, 1e7, 0.1]), "double2": (Type.FLOAT64, [1e-3, 9.99e-4, math.nan]),
        "double3": (Type.FLOAT64, [9999999.999999998, 1.7976931348623157e308, 123456.0]),
        "float": (Type.FLOAT32, [0.5, math.inf, 1e10]), "empty": (Type.STRING, ["", "", ""]),
        "text": (Type.STRING, ['"\\/', "\0\x1f\b\t\n\f\r\x7f", "ü€\U0001f600\U0010ffff\uffff"]),
    }  # fmt: skip
    builder = SchemaBuilder.struct().name('"\U0001f600')
    for name, (type_, _) in own.items():
        builder.field(f'{name}"', Schema(type_, optional=is_optional))
    schema = builder.field("empty", SchemaBuilder.struct().build()).optional().build()
    empty = Struct(schema.fields[-1].schema)
    rows = [Struct.unchecked(schema, (*row, empty)) for row in zip(*(found for _, found in own.values()))]
    if is_optional:
        rows.append(Struct.unchecked(schema, (*[None] * len(own), empty)))
    lists = SchemaBuilder.array(schema).build()
    maps = SchemaBuilder.map(STRING_SCHEMA, lists).build()
    several = SchemaBuilder.struct().field("maps", maps).field("row", schema).build()
    made = converter({})
    for kind, found in (
        (schema, rows),
        (lists, [[], rows, [rows[0], None]]),
        (maps, [{}, {"": [], '"': rows}]),
        (several, [Struct.unchecked(several, ({"a": [row, None]}, row)) for row in rows]),
    ):
        column = values_to_column(kind, found * 2).slice(1)
        wanted = [made.from_connect_data("t", kind, value) for value in (found * 2)[1:]]
        assert made.from_connect_batch("t", kind, column).to_pylist() == wanted


def test_columns_of_another_type_than_their_schema_has_are_written() -> None:
    """A batch may come from a plugin in another language, whose Arrow has more than one type of texts."""
    column = pa.array(["a", "ü"], pa.large_string())
    made = converter({"schemas.enable": "false"})
    assert made.from_connect_batch("t", STRING_SCHEMA, column).to_pylist() == [b'"a"', '"ü"'.encode()]


@slow
@given(st.lists(SCHEMALESS, max_size=6), CONFIGS)
def test_columns_without_schema_are_written_as_single_values_are(rows: list[Any], config: dict[str, str]) -> None:
    """A column without schema holds JSON text, which is written as the value that it represents."""
    made = converter(config)
    column = values_to_column(None, rows)
    plain = [written(made, None, row) for row in column_to_values(None, column)]
    if FAILED in plain:
        with pytest.raises(DataError):
            made.from_connect_batch("t", None, column)
    else:
        assert made.from_connect_batch("t", None, column).to_pylist() == plain


@pytest.mark.usefixtures("way_of_writing")
@slow
@given(st.data(), CONFIGS)
def test_slices_are_written_as_single_values_are(data: st.DataObject, config: dict[str, str]) -> None:
    """A part of a column, which shares its memory, becomes the bytes of just its values."""
    schema = data.draw(schemas(1))
    rows = data.draw(st.lists(values(schema), min_size=4, max_size=4))
    made = converter(config)
    plain = [written(made, schema, row) for row in rows]
    assume(FAILED not in plain)
    column = values_to_column(schema, rows).slice(1, 2)
    assert made.from_connect_batch("t", schema, column).to_pylist() == plain[1:3]


@pytest.mark.usefixtures("way_of_reading_structs")
@slow
@given(st.data(), CONFIGS)
def test_columns_are_read_as_single_messages_are(data: st.DataObject, config: dict[str, str]) -> None:
    """Both forms read written messages in the same way, with changing schemas and nulls between them."""
    made = converter(config)
    messages: list[bytes | None] = []
    for schema in data.draw(st.lists(schemas(), min_size=1, max_size=2)):
        rows = data.draw(st.lists(values(schema), min_size=3, max_size=6))
        messages += [row for row in (written(made, schema, row) for row in rows) if row is not FAILED]
    order = data.draw(st.permutations(range(len(messages))))
    assert_same_when_read(made, [None, *(messages[index] for index in order), *messages * 4])


ODD = st.sampled_from(
    [
        *("null", "true", "0012", "-0", "1.5", "1e2", "0x1F", "300", "2147483648", "9223372036854775808", "-0.0"),
        *("1.555", "1e400", "-1e-400", "-719163", "86400000", "NaN", "[]", "{}", "[1]", '{"a":1}', "-", "", "1 "),
        *('"12"', '"x"', '""', '"a\\"b"', '"\\ud800"', '"\\u0041\\n"', '"\t"', '"\\\\"', '"\\\\\\""', '"é€😀"'),
        *('"AQI="', '"A"', '"AAA=\\n"', '"]'),
    ]
)


def number(schema: Schema) -> Any:
    """Return JSON numbers for a schema that are in range."""
    low, high = {INT8_SCHEMA: (-128, 127), INT32_SCHEMA: (-(2**31), 2**31 - 1)}.get(schema, (0, 86_399_999))
    return st.integers(low, high).map(str)


STRINGS = TEXT.map(lambda text: json.dumps(text, ensure_ascii=False)) | TEXT.map(json.dumps)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(repr)
INNER = SchemaBuilder.struct().field("x", INT32_SCHEMA).field("y", OPTIONAL_STRING_SCHEMA).optional().build()
FIELDS: list[tuple[str, Schema, Any]] = [
    ("a", INT32_SCHEMA, number(INT32_SCHEMA)),
    ("b", OPTIONAL_STRING_SCHEMA, STRINGS),
    ("c", SchemaBuilder.int64().optional().default(5).build(), number(OPTIONAL_INT64_SCHEMA)),
    ("d", FLOAT64_SCHEMA, FLOATS),
    ("e", FLOAT32_SCHEMA, FLOATS),
    ("f", BOOLEAN_SCHEMA, st.sampled_from(["true", "false"])),
    ("g", BYTES_SCHEMA, st.sampled_from(['"AQI="', '""', '"/+8="'])),
    ("h", Decimal.schema(2), st.sampled_from(['"AJY="', '"AA=="', "1.5", "12", "0.00"])),
    ("i", Date.SCHEMA, number(INT8_SCHEMA)),
    ("j", Time.SCHEMA, number(OPTIONAL_INT64_SCHEMA)),
    ("k", Timestamp.SCHEMA, number(INT32_SCHEMA)),
    ("l", SchemaBuilder.string().default("d").build(), STRINGS),
    ("m", INT8_SCHEMA, number(INT8_SCHEMA)),
    (
        "o",
        SchemaBuilder.array(SchemaBuilder.int32().default(3).build()).optional().build(),
        st.sampled_from(["[]", "[1,2]", "[null]", "null", "[1,null,-5]", '["x"]', "[[1]]"]),
    ),
    (
        "p",
        SchemaBuilder.map(STRING_SCHEMA, OPTIONAL_STRING_SCHEMA).build(),
        st.sampled_from(["{}", '{"a":"b"}', '{"a":null,"b":"c"}', '{"a":1}', '{"a":"1","a":"2"}', "[]"]),
    ),
    (
        "q",
        SchemaBuilder.map(INT32_SCHEMA, INNER).build(),
        st.sampled_from(
            ["[]", '[[1,{"x":1}]]', "[[1,null]]", '[[1,null],[1,{"x":2}]]', "[[null,null]]", '[["1",null]]']
        ),
    ),
    ("n", INNER, st.sampled_from(['{"x":1,"y":"z"}', '{"x":-7,"y":"é"}', '{"x":12,"y":null}'])),
]
LAYOUTS = st.sampled_from(
    [(",", ":", "{", "}"), (", ", ": ", "{", "}"), (" ,", ":", "{ ", " }"), (",\n", ":", "{\n", "\n}")]
)


@st.composite
def payloads(draw: st.DrawFn, members: list[tuple[str, Schema, Any]], layout: tuple[str, ...]) -> str:
    """Return a payload, usually with the common layout and with values that fit."""
    comma, colon, opening, closing = layout
    oddity = draw(st.integers(0, 40))
    parts = [[name, draw(texts)] for name, _, texts in members]
    if oddity < 8:
        draw(st.sampled_from(parts))[1] = draw(ODD)
    if oddity == 9:
        parts = draw(st.permutations(parts))
    if oddity == 10:
        parts.pop()
    if oddity == 11:
        parts.append(draw(st.sampled_from([["zz", "1"], ["a", "7"], parts[0]])))
    text = opening + comma.join(f'"{name}"{colon}{value}' for name, value in parts) + closing
    return text + draw(st.sampled_from(["", " ", "x", "}"])) if oddity == 12 else text


@pytest.fixture(params=["by layout", "strictly"])
def way_of_reading_structs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with the code for many payloads, and with that for few."""
    if request.param == "by layout":
        monkeypatch.setattr(column_reader, "_FEWEST", 1)
        monkeypatch.setattr(template, "FEW", 1)


@pytest.mark.usefixtures("way_of_reading_structs")
@settings(slow, max_examples=100)
@given(st.data(), LAYOUTS, st.booleans())
def test_payloads_of_one_layout_are_read_as_single_ones_are(
    data: st.DataObject, layout: tuple[str, ...], replaces: bool
) -> None:
    """Templates give the plain form's values, and leave rows that differ slightly to it."""
    members = data.draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=4, unique_by=lambda field: field[0]))
    builder = SchemaBuilder.struct()
    for name, schema, _ in members:
        builder.field(name, schema)
    made = converter({"replace.null.with.default": str(replaces)})
    head = '{"schema":' + made._schemas.text(builder.build()) + ',"payload":'
    texts = data.draw(st.lists(payloads(members, layout), min_size=16, max_size=24))
    messages: list[bytes | None] = [f"{head}{text}}}".encode("utf-8", "surrogatepass") for text in texts]
    assert_same_when_read(made, messages)


@pytest.mark.usefixtures("way_of_reading_structs")
@settings(slow, max_examples=100)
@given(st.data(), st.sampled_from([field for field in FIELDS if field[0] != "n"]))
def test_bare_payloads_are_read_as_single_ones_are(data: st.DataObject, field: tuple[str, Schema, Any]) -> None:
    """A payload that is one scalar is a template of one value."""
    _, schema, texts = field
    made = converter({})
    head = '{"schema":' + made._schemas.text(schema) + ',"payload":'
    rows = data.draw(st.lists(texts | texts | texts | texts | ODD | st.just("null"), min_size=16, max_size=24))
    assert_same_when_read(made, [f"{head}{row}}}".encode() for row in rows])


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT | st.sampled_from(["@x", "@map"]), inner, max_size=3)
    ),
    max_leaves=5,
)
NASTY = st.sampled_from(
    [
        *(b"", b" ", b"1 2", b"1,2", b"1],[2", b"[3", b"4]", b'1,"\\u007f",[2', b"3]", b'"\x7f"', b"\xff", b'"\xff"'),
        *(b"tru", b"1e400", b"1e-99999999999", b"-1e-400", b"12345678901234567890", b"-0.0", b"-0", b"0012", b'"a":1'),
        *(b'{"a":1,"a":2}', b'{"@x":1}', b'"\\ud800"', b"1" * 1001, b'{"a":1}x', b"1.0E10"),
        *(b"[" * levels + b"]" * levels for levels in (300, 5000)),  # what every Python reads, and what none does
        *(b"\xef\xbb\xbf1", b"1\x00", '"é"'.encode("utf-16"), b"1e16", b"1e-7", b"0.00001", b"123456789.5"),
    ]
)


@pytest.fixture(params=["compiled", "by Python"])
def way_of_reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the compiled loops, and the code without them."""
    if request.param == "by Python":
        monkeypatch.setattr(rewriting, "Rewriter", None)


@pytest.mark.usefixtures("way_of_reading")
@settings(slow, max_examples=100)
@given(st.lists(JSON, min_size=1, max_size=12), st.data(), st.booleans())
def test_json_without_schema_is_read_as_single_messages_are(
    trees: list[Any], data: st.DataObject, enveloped: bool
) -> None:
    """Any JSON gives the same value in both forms, however it is written, and so does what is hardly JSON."""
    write = compact if data.draw(st.booleans()) else json.dumps
    messages = [write(tree).encode() for tree in trees]
    if data.draw(st.booleans()):
        messages.insert(data.draw(st.integers(0, len(messages))), data.draw(NASTY))
    if data.draw(st.booleans()):
        messages += data.draw(st.lists(NASTY, min_size=1, max_size=4))
    if enveloped:
        messages = [b'{"schema":null,"payload":%b}' % message for message in messages]
    assert_same_when_read(converter({"schemas.enable": str(enveloped)}), [*messages, *messages])


def compact(tree: Any) -> str:
    """Return JSON as most writers print it."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.usefixtures("way_of_reading")
@slow
@given(st.lists(JSON, min_size=1, max_size=12))
def test_columns_without_schema_hold_the_text_of_the_api(trees: list[Any]) -> None:
    """The text in a column without schema is letter by letter what the API writes for the value."""
    made = converter({"schemas.enable": "false"})
    messages = [compact(tree).encode() for tree in trees] * 2
    (run,) = read_whole(made, pa.array(messages, pa.binary()))
    values_of_rows = [made.to_connect_data("t", message).value for message in messages]
    assert run.column.to_pylist() == values_to_column(None, values_of_rows).to_pylist()


@pytest.mark.usefixtures("way_of_reading")
@pytest.mark.parametrize(
    "number",
    [
        *("9223372036854775807", "-9223372036854775808", "9223372036854775808", "-9223372036854775809"),
        *("1234567890123456789", "12345678901234567890", "-1000000000000000000", "99999999999999999999"),
    ],
)
def test_whole_numbers_of_19_and_more_digits_are_read_as_single_ones_are(number: str) -> None:
    """The largest 64-bit identifiers fit; the plain form reads larger numbers."""
    made = converter({"schemas.enable": "false"})
    messages: list[bytes | None] = [f'{{"id":{number},"row":{row}}}'.encode() for row in range(8)]
    assert_same_when_read(made, messages)


@pytest.mark.parametrize("kinds", [2, 12, 300])
def test_each_schema_has_one_run_for_any_order_of_rows(kinds: int) -> None:
    """Rows of several schemas that take turns come as one run of each, also when there are many schemas."""
    made = converter({})
    schemas_in_turn = [SchemaBuilder.string().name(f"s{index}").build() for index in range(kinds)]
    messages = [made.from_connect_data("t", schemas_in_turn[row % kinds], f"v{row}") for row in range(5 * kinds)]
    messages[3] = None
    runs = read_whole(made, pa.array(messages, pa.binary()))
    assert rows_of(runs) == [read(made, message) for message in messages]
    assert len(runs) == kinds + 1


def test_an_empty_column_gives_no_rows() -> None:
    """A batch without rows is converted without an error."""
    made = converter({})
    runs = read_whole(made, pa.array([], pa.binary()))
    assert sum(len(run.column) for run in runs) == 0
    assert len(made.from_connect_batch("t", STRING_SCHEMA, pa.array([], pa.string()))) == 0
    assert len(made.from_connect_batch("t", INNER, values_to_column(INNER, []))) == 0
