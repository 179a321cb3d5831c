"""The column form of Avro gives the same bytes and values as the record form, or declines."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    BYTES_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
)
from hearth_api.batch import values_to_column
from hearth_registry.avro_column_reader import ColumnReader
from hearth_registry.avro_column_writer import ColumnWriter
from hearth_registry.avro_format import FEW_READ, FEW_WRITTEN, AvroFormat, AvroSchema
from hearth_registry.avro_output import put_long
from hearth_registry.schema_format import PayloadError
from tests.profile import decoder_settings
from tests.unit.plugins.registry.avro_case import CASES, COLOR, OPT, USER, Case, configured, struct
from tests.unit.plugins.registry.avro_sample import SCHEMAS, values
from tests.unit.plugins.registry.test_avro_format import FORMAT, of, parsed, record

PREFIX = b"\0\0\0\1\xff"
LONG = 300
"""More than a byte can count."""


def written(schema: Schema, column: Any, **config: str) -> Any:
    """Return the payloads of a column, however few rows it has."""
    settings = configured(**config)
    made = AvroFormat(settings).schema_of(schema).type
    return ColumnWriter(settings, schema, made, made).payloads(column, PREFIX)


def columns(made: AvroSchema, wanted: AvroSchema | None = None) -> ColumnReader:
    """Return a column reader for a schema, however few rows there are."""
    type_ = (wanted or made).type
    return ColumnReader(configured(), made.type, type_, FORMAT.reader(made, (), wanted, None).schema)


def check(schema: Schema, given: list[Any], **config: str) -> None:
    """Compare both forms in both directions for values that both support, within the depth of columns."""
    form = AvroFormat(configured(**config))
    made = form.schema_of(schema)
    writer, reader = form.writer(schema, made), form.reader(made, (), None, None)
    payloads = [writer.payload(value) for value in given]
    column = values_to_column(schema, [*given[:1], *given]).slice(min(1, len(given)))
    assert written(schema, column, **config).to_pylist() == [PREFIX + payload for payload in payloads]
    data = pa.array([b"skipped", *payloads], pa.binary()).slice(1)
    expected = values_to_column(schema, [reader.value(payload) for payload in payloads])
    found = columns(made).values(data)
    assert found is NotImplemented or found.equals(expected)
    assert found is not NotImplemented or made.text.text.count('":"array"') + made.text.text.count('":"map"') > 2


@given(st.data())
def test_both_forms_write_the_same_bytes_and_read_the_same_values(data: st.DataObject) -> None:
    """Of any schema, nulls at every level included."""
    schema = data.draw(SCHEMAS.filter(lambda each: not each.optional and each != BYTES_SCHEMA))
    if schema.name != Decimal.LOGICAL_NAME:
        check(schema, data.draw(st.lists(values(schema), max_size=6)))


@decoder_settings()
@given(st.data())
def test_both_forms_read_the_same_from_random_bytes(data: st.DataObject) -> None:
    """The column form reads what it accepts as the plain form does, and declines the rest."""
    schema = data.draw(SCHEMAS)
    made = FORMAT.schema_of(schema)
    writer, reader = FORMAT.writer(schema, made), FORMAT.reader(made, (), None, None)
    sound = values(schema).map(lambda value: b"\0" if value is None else writer.payload(value))
    payloads = data.draw(st.lists(st.one_of(sound, st.binary(max_size=12)), min_size=1, max_size=4))
    found = columns(made).values(pa.array(payloads, pa.binary()))
    if found is NotImplemented:
        return
    try:
        expected = values_to_column(schema, [reader.value(payload) for payload in payloads])
    except (PayloadError, DataError) as error:
        raise AssertionError(payloads) from error
    assert repr(found.to_pylist()) == repr(expected.to_pylist())  # NaN is itself there


@pytest.mark.parametrize("case", [case for case in CASES if case.values], ids=lambda case: case.name)
def test_golden_pairs_hold_in_columns(case: Case) -> None:
    """If the column form supports them."""
    column = values_to_column(case.schema, [value for value, _ in case.values] * 2)
    found = written(case.schema, column, **case.config)
    if case.name in ("union", "union of any format", "decimal in fixed"):
        assert found is NotImplemented
    else:
        assert found.to_pylist() == [PREFIX + bytes.fromhex(payload) for _, payload in case.values] * 2


@pytest.mark.parametrize(
    "number", [0, 63, 64, -65, 2**13, -(2**27) - 1, 2**34, 2**48, 2**55 - 1, 2**62, 2**63 - 1, -(2**63)]
)
def test_numbers_of_every_length_go_both_ways(number: int) -> None:
    """Alone and with short ones."""
    pair = SchemaBuilder.struct().field("a", INT64_SCHEMA).field("b", STRING_SCHEMA).build()
    check(pair, [Struct.unchecked(pair, [number, "x"])] * 3)
    check(pair, [Struct.unchecked(pair, [each, "x"]) for each in (1, number, -1)])


def test_many_items_and_long_texts_go_both_ways() -> None:
    """Their counts and lengths have more than one byte."""
    numbers = SchemaBuilder.array(INT32_SCHEMA).build()
    check(numbers, [list(range(LONG))] * LONG)
    pairs = SchemaBuilder.map(STRING_SCHEMA, INT32_SCHEMA).build()
    check(pairs, [{}, {"b": 1}])
    check(STRING_SCHEMA, ["é" * LONG, ""])
    nothing = SchemaBuilder.struct().build()
    check(nothing, [Struct(nothing)] * 3)


def test_a_null_with_a_default_is_written_as_the_default() -> None:
    """As Java's structs do, unless nullables stay null."""
    column = values_to_column(OPT, [struct(OPT, c="y"), struct(OPT, a=7, b=8)])
    assert written(OPT, column).to_pylist() == [
        PREFIX + bytes.fromhex(each) for each in ("000a000279", "000e02100278")
    ]
    keeping = {"ignore.default.for.nullables": "true"}
    assert written(OPT, column.slice(0, 1), **keeping).to_pylist() == [PREFIX + bytes.fromhex("02000279")]
    assert written(OPT, column, **keeping) is NotImplemented


def test_enums_refuse_unknown_symbols() -> None:
    """The plain form raises the error."""
    enhanced = {"enhanced.avro.schema.support": "true"}
    check(COLOR.build(), ["RED", "BLUE", "RED"], **enhanced)
    column = values_to_column(COLOR.build(), ["RED", "GREEN"])
    assert written(COLOR.build(), column, **enhanced) is NotImplemented


def test_entries_of_a_map_are_in_javas_order() -> None:
    """In the bytes as in the values."""
    pairs = SchemaBuilder.map(STRING_SCHEMA, OPTIONAL_INT32_SCHEMA).build()
    made = FORMAT.schema_of(pairs)
    given = {"a": 1, "b": None, "foo": 4, "zeta": 3}
    payload = FORMAT.writer(pairs, made).payload(given)
    column = values_to_column(pairs, [given, given])
    assert written(pairs, column).to_pylist() == [PREFIX + payload] * 2
    found = columns(made).values(pa.array([payload]))
    assert [key for key, _ in found.to_pylist()[0]] == list(FORMAT.reader(made, (), None, None).value(payload))


def test_unusual_encodings_are_left_to_the_plain_form() -> None:
    """Several blocks, blocks with their length in bytes, numbers with too many bytes, dates beyond Python's."""
    numbers = parsed({"type": "array", "items": "int"})
    for payload in ("0202020400", "010202" + "00", "02828080808000" + "00"):
        assert columns(numbers).values(pa.array([bytes.fromhex(payload)])) is NotImplemented
    assert columns(FORMAT.schema_of(Date.SCHEMA)).values(pa.array([bytes.fromhex("feffffff0f")])) is NotImplemented
    decimal = FORMAT.reader(
        parsed(record(of("d", {"type": "bytes", "logicalType": "decimal", "precision": 5}))), (), None, None
    )
    assert decimal.values(pa.array([bytes.fromhex("040001")])) is NotImplemented
    assert decimal.value(bytes.fromhex("040001")).raw_values() == (1,)


def test_rows_that_claim_the_bytes_of_others_cost_nothing() -> None:
    """Each declares a text up to the end of the batch, which would be 25 GB of texts."""
    count, size = 50_000, 20
    content = bytearray()
    for row in range(count):
        left = (count - row) * size
        head = bytearray()
        put_long(head, left // 2)
        content += head + bytes(size - len(head))
    data = pa.array([bytes(content[start : start + size]) for start in range(0, len(content), size)])
    assert columns(FORMAT.schema_of(STRING_SCHEMA)).values(data) is NotImplemented


def test_a_reader_schema_with_new_fields_is_read_in_columns() -> None:
    """New fields get their defaults, and the order is the reader schema's."""
    wanted = parsed(
        record(of("email", ["null", "string"]), of("new", "int", default=7), of("id", "long"), name="User")
    )
    reader = FORMAT.reader(FORMAT.schema_of(USER), (), wanted, None)
    payloads = [FORMAT.writer(USER, FORMAT.schema_of(USER)).payload(struct(USER, id=each)) for each in (1, 2)]
    assert reader.schema is not None
    expected = values_to_column(reader.schema, [reader.value(each) for each in payloads])
    assert columns(FORMAT.schema_of(USER), wanted).values(pa.array(payloads)).equals(expected)


def test_few_rows_use_the_record_form() -> None:
    """Columns have a cost before their first row, which the records of an idle connector would pay."""
    made = FORMAT.schema_of(STRING_SCHEMA)
    writer, reader = FORMAT.writer(STRING_SCHEMA, made), FORMAT.reader(made, (), None, None)
    column = pa.array(["x"] * FEW_WRITTEN)
    data = writer.payloads(column, b"")
    assert writer.payloads(column.slice(1), b"") is NotImplemented
    assert reader.values(data.slice(0, FEW_READ)).equals(column.slice(0, FEW_READ))
    assert reader.values(data.slice(0, FEW_READ - 1)) is NotImplemented
