"""Batches are immutable and keep their attributes in Arrow IPC."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    INT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Headers,
    Schema,
    SchemaBuilder,
    SourceRecord,
    Struct,
    Timestamp,
    TimestampType,
)
from hearth_api.batch import Batch, batch_to_source_records, records_to_batches
from tests.unit.hearth_api.strategy import TEXT, schemas

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
MILLISECOND = dt.timedelta(milliseconds=1)
MOMENTS = EPOCH + 5 * MILLISECOND, EPOCH + 6 * MILLISECOND


@pytest.fixture
def batch() -> Batch:
    """Return three rows with two columns."""
    columns = {"value": pa.array(["a", "b", "c"]), "row": pa.array([0, 1, 2], pa.int32())}
    return Batch("t", None, STRING_SCHEMA, pa.RecordBatch.from_pydict(columns))


def test_columns_may_be_missing(batch: Batch) -> None:
    """A missing column is None and means nulls."""
    assert batch.column("key") is None
    assert batch.column("value").to_pylist() == ["a", "b", "c"]
    assert batch.num_rows == len(batch) == 3


def test_columns_are_set_added_and_dropped(batch: Batch) -> None:
    """The original batch is unchanged."""
    changed = batch.with_columns(value=pa.array([1, 2, 3]), key=pa.array(["x", "y", "z"]), row=None)
    assert changed.data.schema.names == ["value", "key"]
    assert batch.data.schema.names == ["value", "row"]
    assert changed.replace(topic="u", value_schema=INT64_SCHEMA).value_schema is INT64_SCHEMA


def test_rows_are_chosen(batch: Batch) -> None:
    """All columns are filtered with the rows."""
    assert batch.filter(pa.array([True, False, True])).column("row").to_pylist() == [0, 2]
    assert batch.slice(1).column("value").to_pylist() == ["b", "c"]
    assert batch.slice(1, 1).column("value").to_pylist() == ["b"]
    assert batch.take(pa.array([2, 0])).column("row").to_pylist() == [2, 0]


@given(
    st.none() | TEXT,
    st.none() | schemas(),
    st.none() | schemas(),
    st.none() | st.dictionaries(TEXT, TEXT | st.integers(-(1 << 63), (1 << 63) - 1) | st.booleans(), max_size=2),
    st.sampled_from(TimestampType),
    st.none() | TEXT,
)
def test_attributes_travel_with_the_data(
    topic: str | None,
    key_schema: Schema | None,
    value_schema: Schema | None,
    source_partition: dict[str, object] | None,
    timestamp_type: TimestampType,
    original_topic: str | None,
) -> None:
    """Arrow IPC carries the whole batch."""
    data = pa.RecordBatch.from_pydict({"value": pa.array(["x"])})
    batch = Batch(topic, key_schema, value_schema, data, source_partition, timestamp_type, original_topic)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.to_arrow().schema) as writer:
        writer.write_batch(batch.to_arrow())
    back = Batch.from_arrow(pa.ipc.open_stream(sink.getvalue()).read_next_batch())
    assert back.data.equals(data)
    assert (back.topic, back.key_schema, back.value_schema) == (topic, key_schema, value_schema)
    assert (back.source_partition, back.timestamp_type) == (source_partition, timestamp_type)
    assert back.original_topic == original_topic


def test_schemas_of_one_stream_are_one_object(batch: Batch) -> None:
    """Consumers compare schemas by identity first."""
    other = batch.replace(value_schema=OPTIONAL_STRING_SCHEMA)
    first, second = Batch.from_arrow(other.to_arrow()), Batch.from_arrow(other.slice(1).to_arrow())
    assert first.value_schema is second.value_schema


TABLE = pa.table({"id": [1, 2], "name": ["a", None], "at": pa.array([5, 6], pa.timestamp("ms"))})
NAMED = (
    SchemaBuilder.struct().name("Named")
    .field("id", OPTIONAL_INT64_SCHEMA).field("name", OPTIONAL_STRING_SCHEMA)
    .field("at", Timestamp.builder().optional()).build()
)  # fmt: skip


def test_a_batch_of_a_table_is_that_of_its_records() -> None:
    """Columns for keys, timestamps and offsets stay in the value."""
    headers = [Headers().add_string("h", "x"), None]
    batch = Batch.of_arrow(
        "t", TABLE, name="Named", key="name", timestamp="at", offsets="id", source_partition={"p": 1}, headers=headers
    )
    batch.data.validate(full=True)
    records = [
        SourceRecord(
            {"p": 1}, {"id": number}, "t", None, OPTIONAL_STRING_SCHEMA, name, NAMED,
            Struct.of(NAMED, {"id": number, "name": name, "at": at}), (at - EPOCH) // MILLISECOND, own,
        )
        for number, name, at, own in zip((1, 2), ("a", None), MOMENTS, headers)
    ]  # fmt: skip
    assert batch_to_source_records(batch) == batch_to_source_records(records_to_batches(records)[0]) == records
    rows = [{"id": 1, "name": "a", "at": records[0].value["at"]}, (2, None, records[1].value["at"])]
    other = Batch.of_rows(
        "t", NAMED, rows, keys=["a", None], key_schema=OPTIONAL_STRING_SCHEMA, headers=headers,
        source_partition={"p": 1}, offsets=[{"id": 1}, {"id": 2}], timestamps=[5, 6],
    )  # fmt: skip
    assert batch_to_source_records(other) == records


class Frame:
    """A foreign table, like those of polars and pandas."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows."""
        return TABLE.__arrow_c_stream__(requested_schema)


class Piece:
    """A foreign record batch."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        """Return the rows."""
        return TABLE.to_batches()[0].__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("table", [Frame(), Piece(), TABLE.to_batches()[0], TABLE.slice(0, 1), TABLE.slice(2)])
def test_any_arrow_source_is_accepted_as_a_table(table: Any) -> None:
    """It converts back to a table with Connect's types."""
    expected = table if isinstance(table, pa.Table) else TABLE
    batch = Batch.of_arrow("t", table, name="Named")
    assert batch.value_schema == NAMED
    assert batch.to_table().to_pylist() == [
        {**row, "at": row["at"].replace(tzinfo=EPOCH.tzinfo)} for row in expected.to_pylist()
    ]
    assert Batch.of_arrow("t", pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches())).num_rows == 2
    again = Batch.of_arrow("t", batch.to_table(), name="Named")
    assert again.value_schema == NAMED
    assert again.data.equals(batch.data)


def test_keys_and_offsets_of_several_columns() -> None:
    """A key of several columns is a struct, offsets of other types than numbers are JSON."""
    batch = Batch.of_arrow("t", TABLE, key=["id", "name"], offsets="name")
    assert [record.key.to_dict() for record in batch_to_source_records(batch)] == TABLE.select(
        ["id", "name"]
    ).to_pylist()
    assert batch.column("source_offset").to_pylist() == ['{"name":"a"}', '{"name":null}']
    given = Batch.of_arrow("t", TABLE, offsets=[{"a": 1, "b": 2}, None])
    assert given.column("source_offset").to_pylist() == ['{"a":1,"b":2}', None]
    timed = Batch.of_arrow("t", TABLE, offsets="at")
    assert timed.column("source_offset").to_pylist() == ['{"at":5}', '{"at":6}']


def test_invalid_tables_are_refused() -> None:
    """Missing columns, no timestamps, unequal lengths."""
    wrong: tuple[dict[str, Any], ...] = (
        {"key": "idd"}, {"key": ["id", "idd"]}, {"offsets": "idd"}, {"timestamp": "idd"},
    )  # fmt: skip
    for names in wrong:
        with pytest.raises(KeyError, match="the table has no column 'idd', did you mean 'id'"):
            Batch.of_arrow("t", TABLE, **names)
    with pytest.raises(DataError, match="column name has no timestamps"):
        Batch.of_arrow("t", TABLE, timestamp="name")
    with pytest.raises(DataError, match="equally long"):
        Batch.of_rows("t", INT64_SCHEMA, [1, 2], offsets=[{"a": 1}])
    with pytest.raises(DataError, match="PyCapsule interface, not of list"):
        Batch.of_arrow("t", TABLE.to_pylist())


@pytest.mark.parametrize("changed", [False, True])
def test_originals_are_where_records_were_read(changed: bool) -> None:
    """A transformation may have moved them to another topic and partition; without originals nothing was changed."""
    columns = {"value": pa.array(["a", "b"]), "partition": pa.array([7, 7]), "offset": pa.array([5, 6])}
    if changed:
        columns |= {"partition": pa.array([0, 0]), "original_partition": pa.array([7, 7])}
    batch = Batch("u" if changed else "t", None, STRING_SCHEMA, pa.RecordBatch.from_pydict(columns))
    topic, partitions, offsets = batch.replace(original_topic="t" if changed else None).originals()
    assert (topic, partitions.tolist(), offsets.tolist()) == ("t", [7, 7], [5, 6])
