"""Whatever a format writes comes back from it, and other programs read it."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hearth_api import (
    BYTES_SCHEMA,
    OPTIONAL_INT32_SCHEMA,
    STRING_SCHEMA,
    ConfigError,
    DataError,
    Date,
    Decimal,
    Schema,
    SchemaBuilder,
    Struct,
    Type,
)
from hearth_api.batch import arrow_type, column_to_values, values_to_column
from hearth_json import JsonConverter
from hearth_storage.format import parquet
from hearth_storage.format.avro import AvroFormat
from hearth_storage.format.compression import decompressed
from hearth_storage.format.delimited import CsvFormat
from hearth_storage.format.format import FileFormat
from hearth_storage.format.json_lines import JsonFormat
from hearth_storage.format.parquet import ParquetFormat
from hearth_storage.format.text import ByteArrayFormat, StringFormat
from tests.unit.plugins.registry.avro_sample import SCHEMAS, values

CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")


def written(made: FileFormat, schema: Schema | None, rows: list[Any], cut: int = 3) -> bytes:
    """Return the file of rows, which are written as two columns."""
    out, column = io.BytesIO(), values_to_column(schema, rows)
    writer = made.writer(out, schema)
    writer.write(column.slice(0, cut))
    writer.write(column.slice(cut))
    writer.close()
    assert writer.size == len(out.getvalue())
    return out.getvalue()


def read(made: FileFormat, data: bytes, start: int = 0) -> tuple[set[Schema | None], list[Any]]:
    """Return the schemas and the rows of a file; each column has the Arrow type of its schema."""
    found = list(made.read(io.BytesIO(data), start))
    assert all(each.column.type == arrow_type(each.schema) for each in found)
    return {each.schema for each in found}, [
        row for each in found for row in column_to_values(each.schema, each.column)
    ]


@given(st.data())
def test_avro_gives_back_any_records(data: st.DataObject) -> None:
    """Schemas and rows of any type are equal after a file of any codec."""
    schema = data.draw(SCHEMAS)
    rows = data.draw(st.lists(values(schema), min_size=1, max_size=40))
    codec = data.draw(st.sampled_from(CODECS))
    start = data.draw(st.integers(0, len(rows)))
    file = written(AvroFormat({"avro.codec": codec}), schema, rows)
    assert read(AvroFormat({}), file) == ({schema}, rows)
    assert read(AvroFormat({}), file, start)[1] == rows[start:]
    if codec not in ("snappy", "zstandard"):  # which need further packages there
        assert len(list(fastavro.reader(io.BytesIO(file)))) == len(rows)


@given(st.data())
def test_parquet_gives_back_any_structs(data: st.DataObject) -> None:
    """Schemas and rows of structs are equal after a file; Arrow reads it as well."""
    inner = data.draw(SCHEMAS)
    schema = SchemaBuilder.struct().name("com.acme.Row").field("a", inner).field("b", inner).build()
    rows = [
        Struct.of(schema, {"a": a, "b": b})
        for a, b in data.draw(st.lists(st.tuples(values(inner), values(inner)), min_size=1))
    ]
    start = data.draw(st.integers(0, len(rows)))
    file = written(ParquetFormat({}), schema, rows)
    assert read(ParquetFormat({}), file) == ({schema}, rows)
    assert read(ParquetFormat({}), file, start)[1] == rows[start:]
    assert pq.read_table(io.BytesIO(file)).num_rows == len(rows)


@given(st.data())
def test_json_lines_are_those_of_the_converter(data: st.DataObject) -> None:
    """A struct is a line of JsonConverter's; a line is read back as the converter reads it, without schema."""
    inner = data.draw(SCHEMAS)
    schema = SchemaBuilder.struct().field("a", inner).build()
    rows = [Struct.of(schema, {"a": each}) for each in data.draw(st.lists(values(inner), min_size=1, max_size=40))]
    converter = JsonConverter()
    converter.configure({"schemas.enable": False}, is_key=False)
    lines = written(JsonFormat({}), schema, rows)
    assert lines.splitlines() == [converter.from_connect_data("", schema, row) for row in rows]
    assert read(JsonFormat({}), lines)[1] == [converter.to_connect_data("", line).value for line in lines.splitlines()]


@given(st.lists(st.binary(max_size=9).filter(lambda each: b"\n" not in each), min_size=1))
def test_bytes_come_back(rows: list[bytes]) -> None:
    """Bytes without the separator are equal after a file."""
    assume(len(rows) > 1 or rows[0])
    assert read(ByteArrayFormat({}), written(ByteArrayFormat({}), BYTES_SCHEMA, rows))[1] == rows


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=9), min_size=1))
def test_texts_come_back(rows: list[str]) -> None:
    """Texts without the separator are equal after a file."""
    made = StringFormat({"format.string.separator": "|+|"})
    assume(not any("|" in each or "+" in each for each in rows))
    assert read(made, written(made, STRING_SCHEMA, rows))[1] == rows


@pytest.mark.parametrize("kind", [JsonFormat, ByteArrayFormat, StringFormat])
def test_gzip_compresses_texts(kind: type[FileFormat]) -> None:
    """A compressed file has `.gz` at the end of its name, by which it is read, and is equal each time."""
    made = kind({"gcs.compression.type": "GZIP", "gcs.compression.level": 9})
    out, schema = io.BytesIO(), BYTES_SCHEMA if kind is ByteArrayFormat else STRING_SCHEMA
    writer = made.writer(out, schema)
    rows = [b"a", b"b"] if kind is ByteArrayFormat else ["a", "b"]
    writer.write(values_to_column(schema, rows))
    writer.close()
    assert made.extension.endswith(".gz")
    (found,) = kind({}).read(decompressed(io.BytesIO(out.getvalue()), f"x{made.extension}"))
    assert column_to_values(found.schema, found.column) == rows
    assert out.getvalue()[4:8] == b"\0\0\0\0"  # no time


def test_values_that_are_no_structs_are_written_as_jackson_writes_them() -> None:
    """A date at the root is a number of milliseconds, a decimal is a number; without schema it is plain JSON."""
    import datetime as dt
    import decimal

    assert written(JsonFormat({}), Date.builder().build(), [dt.date(1970, 1, 3)]) == b"172800000\n"
    assert written(JsonFormat({}), Decimal.builder(2).build(), [decimal.Decimal("1.50")]) == b"1.50\n"
    assert written(JsonFormat({}), None, [{"b": 1, "a": None}, "x", None]) == b'{"b":1,"a":null}\n"x"\nnull\n'


def test_many_blocks_of_avro_are_read_in_rounds() -> None:
    """A file of many blocks, of records with optional fields, is read as one of few."""
    schema = SchemaBuilder.struct().name("com.acme.Wide").field("n", OPTIONAL_INT32_SCHEMA).field("t", STRING_SCHEMA)
    rows = [Struct.of(schema.build(), {"n": None if n % 3 else n, "t": "x" * (n % 200)}) for n in range(30_000)]
    file = written(AvroFormat({}), schema.build(), rows)
    assert len(file) > 30 * 64_000
    assert read(AvroFormat({}), file, 29_000) == ({schema.build()}, rows[29_000:])
    assert read(AvroFormat({}), file)[1] == rows


def test_row_groups_end_at_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns wait until a row group is full; a start within the second group does not read the first."""
    monkeypatch.setattr(parquet, "ROW_GROUP", 100)
    schema = SchemaBuilder.struct().name("com.acme.Text").field("t", STRING_SCHEMA).build()
    rows = [Struct.of(schema, {"t": f"text {n}"}) for n in range(100)]
    file = written(ParquetFormat({}), schema, rows, cut=50)
    assert pq.ParquetFile(io.BytesIO(file)).num_row_groups == 2
    assert read(ParquetFormat({}), file, 70)[1] == rows[70:]


@pytest.mark.parametrize("kind", [ParquetFormat, AvroFormat])
def test_defaults_replace_nulls_as_in_java(kind: type[FileFormat]) -> None:
    """A null in a field with a default is written as the default, unless the key says otherwise."""
    field = SchemaBuilder.int32().optional().default(7).build()
    schema = SchemaBuilder.struct().name("com.acme.Filled").field("n", field).build()
    column = pa.array([{"n": None}] * 40, arrow_type(schema))
    for settings, expected in (({}, 7), ({"ignore.default.for.nullables": True}, None)):
        out = io.BytesIO()
        writer = kind(settings).writer(out, schema)
        writer.write(column)
        writer.close()
        (found,) = kind({}).read(io.BytesIO(out.getvalue()))
        assert found.column.field(0).to_pylist() == [expected] * 40


def test_a_null_in_a_required_field_is_refused() -> None:
    """A column may have a null where the schema has none; the error names the field, and nothing is written."""
    schema = SchemaBuilder.struct().name("com.acme.Text").field("t", STRING_SCHEMA).build()
    writer = ParquetFormat({}).writer(io.BytesIO(), schema)
    with pytest.raises(DataError, match="field 't' is null"):
        writer.write(pa.array([{"t": None}], arrow_type(schema)))


def test_parquet_refuses_what_it_cannot_hold() -> None:
    """Scalars, values without schema and recursive structs have no form in Parquet."""
    for schema, words in ((STRING_SCHEMA, "structs, not string"), (None, "values without schema")):
        with pytest.raises(DataError, match=words):
            ParquetFormat({}).writer(io.BytesIO(), schema)
    node = SchemaBuilder.struct().name("com.acme.Node").field("v", STRING_SCHEMA)
    node.field("next", node.itself(optional=True))
    with pytest.raises(DataError, match="Recursive Avro schemas"):
        ParquetFormat({}).writer(io.BytesIO(), node.build())


def test_unknown_codecs_are_refused_with_the_known_ones() -> None:
    """The error names key, value and what to use."""
    for kind, key, known in (
        (ParquetFormat, "parquet.codec", "snappy"),
        (AvroFormat, "avro.codec", "deflate"),
        (JsonFormat, "s3.compression.type", "gzip"),
    ):
        with pytest.raises(ConfigError, match=f"(?s)lzop.*{key}.*{known}"):
            kind({key: "lzop"})


def test_damaged_files_are_told() -> None:
    """A file that is cut off, of another format or changed raises a DataError, not one of Python."""
    file = written(AvroFormat({}), STRING_SCHEMA, ["a", "b"] * 40)
    for broken, words in (
        (b"PAR1....", "no Avro container"),
        (file[:-20], "cut off"),
        (file[:-16] + b"x" * 16, "marker"),
    ):
        with pytest.raises(DataError, match=words):
            read(AvroFormat({}), broken)
    with pytest.raises(DataError, match="Parquet"):
        read(ParquetFormat({}), b"PAR1 nothing PAR1")
    with pytest.raises(DataError, match=r"no JSON: '\{oops'"):
        read(JsonFormat({}), b'{"a":1}\n{oops\n')


def test_a_file_without_avro_schema_is_read_by_its_columns() -> None:
    """Parquet of any program: the schema follows from the columns, with Arrow's logical types."""
    table = pa.table({"a": [1, None], "t": pa.array([1, 2], pa.timestamp("us")), "d": pa.array([1, 2], pa.date32())})
    out = io.BytesIO()
    pq.write_table(table, out)
    schemas, rows = read(ParquetFormat({}), out.getvalue())
    (schema,) = schemas
    assert schema is not None
    assert [each.schema.type for each in schema.fields] == [Type.INT64, Type.INT64, Type.INT32]
    assert [row.get("a") for row in rows] == [1, None]


def test_csv_has_texts_under_the_names_of_its_first_line() -> None:
    """A field without quotes that is empty is null; a field may contain line ends."""
    _, rows = read(CsvFormat({"csv.delimiter": ";"}), b'\xef\xbb\xbfa;b\n1;"x\ny"\n2;\n3;""\n', 1)
    assert [json.dumps([row.get("a"), row.get("b")]) for row in rows] == ['["2", null]', '["3", ""]']
    with pytest.raises(DataError, match="only reads"):
        CsvFormat({}).writer(io.BytesIO(), STRING_SCHEMA)
