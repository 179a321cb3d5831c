"""Parquet files have the schema that Java's parquet-avro gives them, and either reads the other's."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hearth_api import Schema
from hearth_api.batch import column_to_values, values_to_column
from hearth_api.java import schema_from_text
from hearth_storage.format.parquet import AVRO_SCHEMA, ParquetFormat
from tests.unit.plugins.sample import cases
from tests.unit.plugins.storage.parquet_question import GOLDEN
from tests.unit.plugins.storage.parquet_sample import rows

CASES = cases(GOLDEN)
pytestmark = pytest.mark.parametrize("case", CASES, ids=[str(each["connect"])[-40:] for each in CASES])


def schema_of(case: dict[str, Any]) -> Schema:
    """Return the Connect schema of a case."""
    return schema_from_text(case["connect"])


def java_file(case: dict[str, Any]) -> bytes:
    """Return the file that Java wrote."""
    return base64.b64decode(case["parquet"])


def own_file(case: dict[str, Any], settings: dict[str, Any] | None = None) -> bytes:
    """Return the file that Hearth writes of the same records."""
    schema, out = schema_of(case), io.BytesIO()
    writer = ParquetFormat(settings or {}).writer(out, schema)
    column = values_to_column(schema, rows(schema))
    writer.write(column.slice(0, 4))
    writer.write(column.slice(4))
    writer.close()
    return out.getvalue()


def shape(data: bytes) -> str:
    """Return the schema of a file as Arrow's library for Parquet prints it: names, types, repetition, annotations."""
    return re.sub("^<.*>\n", "", str(pq.ParquetFile(io.BytesIO(data)).schema))


def test_the_schema_is_javas(case: dict[str, Any]) -> None:
    """Names, repetition, physical and logical types are equal, for each form of lists."""
    assert shape(own_file(case)) == shape(java_file(case))


def test_the_metadata_is_javas(case: dict[str, Any]) -> None:
    """The file names its Avro schema, by which Java's readers bring records back."""
    own, java = (pq.ParquetFile(io.BytesIO(data)).metadata.metadata for data in (own_file(case), java_file(case)))
    assert own.keys() == java.keys()
    assert json.loads(own[AVRO_SCHEMA.encode()]) == json.loads(java[AVRO_SCHEMA.encode()])


def test_a_file_of_java_is_read(case: dict[str, Any]) -> None:
    """The rows of Java's file come back with the Connect schema they were written with."""
    found = list(ParquetFormat({}).read(io.BytesIO(java_file(case))))
    assert {each.schema for each in found} == {schema_of(case)}
    assert [row for each in found for row in column_to_values(each.schema, each.column)] == rows(schema_of(case))


def test_other_readers_read_both(case: dict[str, Any], tmp_path: Path) -> None:
    """Arrow reads equal tables; DuckDB reads a directory of both files, each row twice."""
    files = [tmp_path / "java.parquet", tmp_path / "own.parquet"]
    for path, data in zip(files, (java_file(case), own_file(case))):
        path.write_bytes(data)
    java, own = (pq.read_table(path) for path in files)
    assert own.schema.equals(java.schema)
    assert own.equals(java)
    with duckdb.connect() as connection:
        counts = connection.sql(f"SELECT count(*) FROM '{tmp_path}/*.parquet' GROUP BY ALL").fetchall()
    assert counts == [(2 * len(own),)]


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd", "brotli", "lz4"])
def test_codecs_compress_columns(case: dict[str, Any], codec: str) -> None:
    """Each codec of the key is in the file, and its rows are the same."""
    file = pq.ParquetFile(io.BytesIO(own_file(case, {"parquet.codec": codec})))
    expected = {"none": "UNCOMPRESSED", "lz4": "LZ4"}.get(codec, codec.upper())
    assert file.metadata.row_group(0).column(0).compression == expected
    assert file.read().equals(pq.read_table(pa.BufferReader(java_file(case))))
