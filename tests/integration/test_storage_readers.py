"""Parquet files in another product: Spark reads a directory that Java's library and Hearth have written."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest

from hearth_api.batch import values_to_column
from hearth_api.java import schema_from_text
from hearth_storage.format.parquet import ParquetFormat
from tests.integration.datasource.writing import session
from tests.unit.plugins.sample import cases
from tests.unit.plugins.storage.parquet_question import GOLDEN
from tests.unit.plugins.storage.parquet_sample import LISTS, LOGICAL, rows

_LISTS = (
    "texts array<string>, inners array<struct<a:string,b:int>>, nested array<array<int>>, maps array<map<string,int>>"
)
"""The columns without decimals, which AvroData gives 64 digits: Spark reads no file's schema with more than 38."""


@pytest.mark.slow
def test_spark_reads_a_directory_of_both_writers(tmp_path: Path) -> None:
    """Each row comes twice, once from each writer's file, and the schemas are one; lists have two levels or three."""
    with session("local[1]") as spark:
        for number, case in enumerate(cases(GOLDEN)):
            schema = schema_from_text(case["connect"])
            if schema == LOGICAL:
                continue
            folder = tmp_path / str(number)
            folder.mkdir()
            out = io.BytesIO()
            writer = ParquetFormat({}).writer(out, schema)
            writer.write(values_to_column(schema, rows(schema)))
            writer.close()
            (folder / "own.parquet").write_bytes(out.getvalue())
            (folder / "java.parquet").write_bytes(base64.b64decode(case["parquet"]))
            reader = spark.read.schema(_LISTS) if schema == LISTS else spark.read
            own, java = (reader.parquet(str(folder / f"{each}.parquet")) for each in ("own", "java"))
            assert own.schema == java.schema
            assert own.collect() == java.collect()
            assert reader.parquet(str(folder)).count() == 2 * len(rows(schema))
