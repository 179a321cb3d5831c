"""Batches for Spark: columns that a batch has not, and those that are the same in all of its rows."""

from __future__ import annotations

import datetime as dt
import time

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType

from hearth.datasource.spark_batch import SparkBatches
from hearth.datasource.spark_type import read_schema
from hearth_api import STRING_SCHEMA, TimestampType
from hearth_api.batch import Batch

SCHEMA = read_schema(StringType(), StringType())


def batch(timestamp_type: TimestampType, **columns: pa.Array) -> Batch:
    """Return two records."""
    data = pa.RecordBatch.from_pydict({"value": pa.array(["a", "b"]), **columns})
    return Batch("t", None, STRING_SCHEMA, data, {"file": "f"}, timestamp_type)


def test_records_without_a_timestamp_get_the_time_of_their_batch() -> None:
    """To the millisecond, as records have it."""
    before = time.time_ns() // 1_000_000
    made = SparkBatches(SCHEMA).convert(batch(TimestampType.CREATE_TIME))
    after = time.time_ns() // 1_000_000
    micros = made.column("timestamp").cast(pa.int64()).to_pylist()
    assert len({*micros}) == 1
    assert before * 1000 <= micros[0] <= after * 1000
    assert micros[0] % 1000 == 0


@pytest.mark.parametrize("timestamp_type", [TimestampType.CREATE_TIME, TimestampType.NO_TIMESTAMP_TYPE])
def test_given_timestamp_is_kept(timestamp_type: TimestampType) -> None:
    """Also one before 1970, and a null stays null."""
    given = batch(timestamp_type, timestamp=pa.array([-1, None], pa.int64()))
    made = SparkBatches(SCHEMA).convert(given)
    expected = dt.datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=dt.timezone.utc)
    assert made.column("timestamp").to_pylist() == [expected, None]


def test_missing_columns_are_null_and_constants_are_repeated() -> None:
    """In Spark's schema to the letter, whatever the batch has."""
    made = SparkBatches(SCHEMA).convert(batch(TimestampType.NO_TIMESTAMP_TYPE))
    rows = made.to_pylist()
    assert [row.pop("value") for row in rows] == ["a", "b"]
    assert {row.pop("topic") for row in rows} == {"t"}
    assert {row.pop("source_partition") for row in rows} == {'{"file":"f"}'}
    assert {each for row in rows for each in row.values()} == {None}
    assert made.schema == SparkBatches(SCHEMA).schema
