"""Rows of a DataFrame as records of a sink."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

from hearth.datasource.row_form import RowForm, first_offset
from hearth_api import ConfigError, SinkRecord, TimestampType
from hearth_api.batch import batch_to_sink_records

UTC = dt.timezone.utc
TEXT, LONG = spark.StringType(), spark.LongType()


def table(**kinds: spark.DataType) -> spark.StructType:
    """Return a schema of columns."""
    return spark.StructType([spark.StructField(name, kind) for name, kind in kinds.items()])


def records(schema: spark.StructType, rows: list[tuple[Any, ...]], offset: int = 0, **more: Any) -> list[SinkRecord]:
    """Return the records of rows, topic by topic."""
    named = [dict(zip(schema.names, row)) for row in rows]
    data = pa.RecordBatch.from_pylist(named, to_arrow_schema(schema, timezone="UTC"))
    form = RowForm.of(schema, "default", more.pop("value", "typed"))
    batches = form.batches(data, 3, offset)
    return [record for batch in batches for record in batch_to_sink_records(batch)]


def test_row_without_a_value_column_becomes_the_value() -> None:
    """A struct of all columns, also where one is called like a part of a record."""
    (record,) = records(table(id=LONG, key=TEXT), [(1, "k")], first_offset(2))
    assert record.value.get("id") == 1
    assert record.value.get("key") == "k"
    assert (record.topic, record.kafka_partition, record.kafka_offset) == ("default", 3, 2 << 29)
    assert (record.key, record.timestamp_type) == (None, TimestampType.NO_TIMESTAMP_TYPE)


def test_columns_become_parts_of_a_record() -> None:
    """The columns that say where a row was read from are left out."""
    schema = table(
        topic=TEXT, key=LONG, value=TEXT, timestamp=spark.TimestampType(), headers=spark.MapType(TEXT, TEXT),
        source_offset=TEXT, source_partition=TEXT, partition=spark.IntegerType(),
    )  # fmt: skip
    at = dt.datetime(2026, 1, 1, tzinfo=UTC)
    (record,) = records(schema, [("t", 7, "v", at, [("h", "x")], "{}", "{}", 9)])
    assert (record.topic, record.key, record.value, record.kafka_partition) == ("t", 7, "v", 3)
    assert record.timestamp == at.timestamp() * 1000
    assert record.timestamp_type is TimestampType.CREATE_TIME
    assert [header.value for header in record.headers] == ["x"]


def test_rows_are_split_by_topic() -> None:
    """Offsets are the rows' numbers in the partition, whatever their topic; those without one have the default."""
    rows = [("a", "1"), ("b", "2"), (None, "3"), ("a", "4")]
    found = records(table(topic=TEXT, value=TEXT), rows, 10)
    assert sorted((each.kafka_offset, each.topic, each.value) for each in found) == [
        (10, "a", "1"), (11, "b", "2"), (12, "default", "3"), (13, "a", "4"),
    ]  # fmt: skip
    only = records(table(topic=TEXT, value=TEXT), [(None, "1")])
    assert [each.topic for each in only] == ["default"]


def test_offsets_of_batches_do_not_overlap() -> None:
    """However many rows a partition of one has, within reason."""
    assert first_offset(8) - first_offset(7) == 1 << 29
    assert first_offset((1 << 34) - 1) + (1 << 29) - 1 == (1 << 63) - 1


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (table(value=TEXT, sensor=TEXT), "typed", "columns sensor are not part of a record"),
        (table(id=TEXT), "json", "there is no column 'value', only id"),
        (table(value=TEXT), "binary", "the column 'value' is string, expected binary"),
        (table(value=TEXT, topic=LONG), "typed", "the column 'topic' is of type bigint"),
        (table(value=TEXT, timestamp=TEXT), "typed", "the column 'timestamp' is of type string"),
        (table(value=TEXT, headers=TEXT), "typed", "the column headers is of type string"),
        (table(key=spark.DayTimeIntervalType(), value=TEXT), "typed", "column key is of type interval"),
    ],
)
def test_columns_outside_a_record_are_an_error(schema: spark.StructType, value: str, message: str) -> None:
    """When the query is planned, and with what to do."""
    with pytest.raises(ConfigError, match=message) as caught:
        RowForm.of(schema, "default", value)
    assert caught.value.hint or "hearth.value" in str(caught.value)


def test_values_for_a_converter_are_bytes() -> None:
    """Texts of JSON likewise."""
    json = RowForm.of(table(key=LONG, value=TEXT), "t", "json")
    assert json.raw == ("value",)
    schema = table(key=spark.BinaryType(), value=spark.BinaryType())
    assert RowForm.of(schema, "t", "binary").raw == ("key", "value")
    data = pa.RecordBatch.from_pylist([{"key": 1, "value": "{}"}])
    (batch,) = json.batches(data, 0, 0)
    assert batch.column("value").to_pylist() == [b"{}"]
