"""Columns are converted like their values, and are not copied if nothing changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth_api import (
    BYTES_SCHEMA,
    OPTIONAL_BYTES_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    DataError,
    Schema,
    Type,
)
from hearth_api.batch import (
    BatchConverter,
    BatchHeaderConverter,
    ColumnRun,
    HeaderColumns,
    column_to_headers,
    column_to_values,
    header_columns,
    header_text,
    header_values,
    values_to_column,
)
from hearth_api.layout import RowTexts
from hearth_api.schema import deep_key
from hearth_converters import ByteArrayConverter, SimpleHeaderConverter, StringConverter
from hearth_execution.header_conversion import HeaderConversion
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import RawHeaders, raw_column
from tests.unit.hearth_api.strategy import SCHEMALESS, TEXT, schemas, values
from tests.unit.plugins.two_forms import messages, read, row_by_row, written
from tests.unit.run_order import values_in_order

PROJECT = Path(__file__).parents[4] / "plugins" / "converters" / "pyproject.toml"
calm = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=50)
BROKEN = st.lists(
    st.sampled_from([b"a", b"\xed\xa0\x80", b"\xed\xa0", b"\xc3", b"\xe2\x82", b"\x80", "é€😀".encode()])
)


def string(**config: str) -> StringConverter:
    """Return a converter of texts."""
    made = StringConverter()
    made.configure({f"converter.{name}": text for name, text in config.items()}, is_key=False)
    return made


def same_in_both_forms(made: BatchConverter, schema: Schema | None, column: Any) -> None:
    """Compare a column with its values: the bytes of valid values, the errors of the others."""
    plain: list[bytes | None] = []
    refused = {}
    for row, value in enumerate(column_to_values(schema, column)):
        try:
            plain.append(made.from_connect_data("t", schema, value))
        except DataError as error:
            plain.append(None)
            refused[row] = str(error)
    cells, failures = written(made, schema, column)
    assert cells.type == pa.binary()
    assert (cells.to_pylist(), messages(failures)) == (plain, refused)


@calm
@given(st.data())
def test_columns_are_written_as_single_values_are(data: st.DataObject) -> None:
    """A column of any schema becomes the bytes of its values, or both forms raise."""
    schema = data.draw(schemas())
    rows = data.draw(st.lists(st.none() | values(schema), min_size=1, max_size=4))
    column = values_to_column(schema, [None, *rows])[1:]
    for made in (string(), string(encoding="UTF-16"), ByteArrayConverter()):
        same_in_both_forms(made, schema, column)
        plain = [_text(made, schema, row) for row in rows]
        assert row_by_row(made, schema, rows) in (None, plain)


def _text(made: BatchConverter, schema: Schema, value: Any) -> Any:
    try:
        return made.from_connect_data("t", schema, value)
    except DataError as error:
        return error


@pytest.mark.parametrize(
    ("schema", "texts"),
    [
        (OPTIONAL_STRING_SCHEMA, {"": b"", "ü😀": "ü😀".encode(), None: None}),
        (Schema(Type.INT8, optional=True), {-128: b"-128", 0: b"0", None: None}),
        (Schema(Type.INT64), {-(1 << 63): b"-9223372036854775808", (1 << 63) - 1: b"9223372036854775807"}),
        (Schema(Type.BOOLEAN), {True: b"true", False: b"false"}),
    ],
)
def test_texts_and_digits_are_written_row_by_row(schema: Schema, texts: dict[Any, bytes | None]) -> None:
    """A null stays null, even if the schema does not allow it."""
    if RowTexts is not None:
        assert row_by_row(string(), schema, [*texts]) == [*texts.values()]
    assert row_by_row(string(encoding="UTF-16"), schema, [*texts]) is None


@calm
@given(st.lists(SCHEMALESS, max_size=4) | st.lists(st.none() | TEXT, max_size=4))
def test_columns_without_schema_are_written_as_single_values_are(rows: list[Any]) -> None:
    """Not as their JSON text."""
    column = values_to_column(None, rows)
    for made in (string(), ByteArrayConverter()):
        same_in_both_forms(made, None, column)


@calm
@given(st.lists(st.none() | st.binary(max_size=6) | BROKEN.map(b"".join), max_size=4))
def test_columns_are_read_as_single_messages_are(given_messages: list[bytes | None]) -> None:
    """Whatever the bytes are, both forms give the same values with the same schema."""
    data = pa.array([None, *given_messages], pa.binary())[1:]
    for made in (string(), string(encoding="UTF-16"), string(encoding="ISO-8859-1"), ByteArrayConverter()):
        runs, failures = read(made, data)
        plain = [made.to_connect_data("t", message) for message in given_messages]
        assert len(runs) <= 1
        assert not failures
        assert deep_key([value for _, value in values_in_order(runs)]) == deep_key([value for _, value in plain])
        assert [schema for schema, _ in values_in_order(runs)] == [schema for schema, _ in plain]


def test_texts_and_bytes_are_not_copied() -> None:
    """Between UTF-8 bytes and text only the type of a column changes; the memory stays the same."""
    texts = pa.array(["a", None, "é€😀"])
    as_bytes = string().from_connect_batch("t", STRING_SCHEMA, texts)
    assert as_bytes.buffers()[2].address == texts.buffers()[2].address
    (run,) = string().to_connect_batch("t", as_bytes)
    assert run.column.buffers()[2].address == texts.buffers()[2].address
    assert run.schema == OPTIONAL_STRING_SCHEMA
    (run,) = ByteArrayConverter().to_connect_batch("t", as_bytes)
    assert run.column is as_bytes
    assert run.schema == OPTIONAL_BYTES_SCHEMA
    assert ByteArrayConverter().from_connect_batch("t", BYTES_SCHEMA, as_bytes) is as_bytes


def test_an_empty_text_has_no_byte_order_mark() -> None:
    """Java writes the mark before the first letter; both are read as the original text."""
    converter = string(encoding="UTF-16")
    written = [converter.from_connect_data("t", STRING_SCHEMA, text) for text in ("", "a")]
    assert written == [b"", b"\xfe\xff\x00a"]
    assert [converter.to_connect_data("t", data).value for data in written] == ["", "a"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("d9a1 d9a2 2078", "\ufffd\u2078"),
        ("d9a1 2078", "\ufffd"),
        ("dc00 2078", "\ufffd\u2078"),
        ("0061 d9a1 dc", "a\ufffd"),
        ("d9a1 dca2 20", "\U000784a2\ufffd"),
    ],
)
def test_invalid_utf_16_is_replaced_as_in_java(data: str, text: str) -> None:
    """An unpaired first half also replaces what follows it; the expected results are Java's."""
    for encoding in ("UTF-16", "UTF-16BE"):
        assert string(encoding=encoding).to_connect_data("t", bytes.fromhex(data)).value == text
    little = b"".join(bytes.fromhex(data)[start : start + 2][::-1] for start in range(0, len(bytes.fromhex(data)), 2))
    assert string(encoding="UTF-16LE").to_connect_data("t", little).value == text


def test_an_unknown_encoding_is_a_configuration_error() -> None:
    """The error names the encoding."""
    for name in ("nope", "hex", ""):
        with pytest.raises(ConfigError, match=f"Unsupported encoding {name}"):
            string(encoding=name)


@pytest.mark.parametrize("made", [StringConverter(), ByteArrayConverter(), SimpleHeaderConverter()])
def test_versions_are_those_of_the_kafka_classes(made: Any) -> None:
    """Users see the version of the class they know."""
    assert made.version() == "4.3.1"


def test_keys_are_those_of_the_kafka_classes() -> None:
    """The definitions show the keys of Kafka Connect 4.3.1."""
    assert StringConverter().config().names == ["converter.type", "converter.encoding"]
    assert ByteArrayConverter().config().names == ["converter.type"]
    assert SimpleHeaderConverter().config().names == []


def test_entry_points_carry_the_names_of_kafkas_classes() -> None:
    """A configuration written for Kafka Connect finds the classes."""
    converters, headers = PROJECT.read_text("utf-8").split('[project.entry-points."hearth.header_converters"]')
    for name, target in (
        ("org.apache.kafka.connect.storage.StringConverter", "hearth_converters.string:StringConverter"),
        ("org.apache.kafka.connect.converters.ByteArrayConverter", "hearth_converters.byte_array:ByteArrayConverter"),
    ):
        assert f'"{name}" = "{target}"\n' in converters
        assert f'"{name}" = "{target}"\n' in headers
    name = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    assert f'"{name}" = "hearth_converters.simple_header:SimpleHeaderConverter"\n' in headers


def test_a_header_the_parser_cannot_take_is_given_as_bytes(caplog: pytest.LogCaptureFixture) -> None:
    """A header that breaks the parser does not break the record: its bytes are passed on, with a warning."""
    made = SimpleHeaderConverter()
    deep = b"[" * 100_000
    schema, value = made.to_connect_header("t", "h", deep)
    assert value == deep or isinstance(value, str)
    assert schema is not None
    assert (schema.type.value == "bytes") == bool(caplog.records)


WORDS = st.from_regex(r"[-+0-9a-zA-Z/_\[{\" ][-+.:0-9a-zA-Z_\\,/ ]{0,40}", fullmatch=True) | st.sampled_from(
    ["true", "null ", "false\0", "2019-08-23x", "2019-08-23T14:34:54.346Z", "14:34:54.346Z", "12:abc", "1e5", "+inf"]
)
KINDS = st.one_of(
    st.integers(0, (1 << 64) - 1).map("{:016x}".format),
    st.integers(-(1 << 64), 1 << 64).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str),
    st.floats(allow_nan=False).map(repr),
    st.uuids().map(str),
    st.dates().map(str),
    st.datetimes().map(lambda moment: f"{moment.isoformat(timespec='milliseconds')}Z"),
    st.sampled_from(["true", "false", "null", "", "NaN", "Infinity"]),
    st.dictionaries(TEXT, st.integers() | st.lists(st.floats() | TEXT, max_size=3), max_size=3).map(json.dumps),
)
"""What headers hold."""
HEADER_BYTES = st.none() | (WORDS | KINDS | TEXT).map(str.encode) | st.binary(max_size=5)


@pytest.mark.parametrize("made", [SimpleHeaderConverter(), string()], ids=["simple", "string"])
@calm
@given(st.lists(HEADER_BYTES, max_size=3))
def test_headers_are_read_together_as_one_by_one(made: BatchHeaderConverter, cells: list[bytes | None]) -> None:
    """Or the column form declines."""
    made.configure({"converter.type": "header"})
    run = made.to_connect_headers("t", "h", pa.array(cells, pa.binary()))
    wanted = [tuple(made.to_connect_header("t", "h", cell)) for cell in cells]
    if isinstance(run, HeaderColumns):
        schemas, texts = header_columns([schema for schema, _ in wanted], [value for _, value in wanted])
        assert run.schemas == schemas
        for row, (schema, _) in enumerate(wanted):  # repr tells numbers of different types apart
            found, text = (header_values(schema, column.slice(row, 1)) for column in (run.values, texts))
            assert repr(found) == repr(text)
    elif run is not NotImplemented:
        assert [(run.schema, value) for value in column_to_values(run.schema, run.column)] == wanted


@calm
@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), HEADER_BYTES), max_size=10), max_size=20))
def test_headers_of_every_kind_are_read_as_single_ones_are(rows: list[RawHeaders]) -> None:
    """Of one name and of several; some are absent or repeated."""
    plugins = Plugins("sink")
    plugins.load("header.converter", "simple", "hearth_converters.simple_header:SimpleHeaderConverter", {})
    column, failures = HeaderConversion(plugins).read("t", raw_column(rows))
    own = [headers or () for headers in column_to_headers(column)]
    found = [[(each.key, each.schema, deep_key(each.value)) for each in headers] for headers in own]
    made, wanted, failed = SimpleHeaderConverter(), [], []
    for row in rows:
        read = [(key, *made.to_connect_header("t", key, data)) for key, data in row]
        try:
            for _, schema, value in read:
                header_text(schema, value)
        except DataError as error:  # Java lets the last of mixed inner schemas win
            read = []
            failed.append(str(error))
        wanted.append([(key, schema, deep_key(value)) for key, schema, value in read])
    assert found == wanted
    assert [each.error.message for each in failures] == failed


@pytest.mark.parametrize("made", [SimpleHeaderConverter(), string()], ids=["simple", "string"])
@calm
@given(st.data())
def test_headers_are_written_together_as_one_by_one(made: BatchHeaderConverter, data: st.DataObject) -> None:
    """Or the column form declines."""
    made.configure({"converter.type": "header"})
    schema = data.draw(schemas(0))
    own = data.draw(st.lists(st.none() | values(schema), max_size=3))
    column = values_to_column(schema, own)
    cells = made.from_connect_headers("t", "h", schema, column)
    if cells is not NotImplemented:
        assert cells.to_pylist() == [
            made.from_connect_header("t", "h", schema, value) for value in column_to_values(schema, column)
        ]


@pytest.mark.parametrize(
    "text",
    ["abc", "trueish", "/a/b", "_", "4bf92f3577b34da6", "550e8400-e29b-41d4-a716-446655440000", "12ab", "a:b,c"],
)
def test_unambiguous_text_is_read_as_a_column(text: str) -> None:
    """Words, identifiers and paths are what most headers hold."""
    data = pa.array([text.encode()], pa.binary())
    run = SimpleHeaderConverter().to_connect_headers("t", "h", data)
    assert isinstance(run, ColumnRun)
    assert (run.schema, run.column.to_pylist()) == (STRING_SCHEMA, [text])
