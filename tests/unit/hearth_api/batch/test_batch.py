"""Batches are immutable and carry their attributes through Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, TimestampType
from hearth_api.batch import Batch
from tests.unit.hearth_api.strategy import TEXT, schemas


@pytest.fixture
def batch() -> Batch:
    """Provide three rows with two columns."""
    columns = {"value": pa.array(["a", "b", "c"]), "row": pa.array([0, 1, 2], pa.int32())}
    return Batch("t", None, STRING_SCHEMA, pa.RecordBatch.from_pydict(columns))


def test_columns_may_be_missing(batch: Batch) -> None:
    """A missing column is None and stands for nulls."""
    assert batch.column("key") is None
    assert batch.column("value").to_pylist() == ["a", "b", "c"]
    assert batch.num_rows == len(batch) == 3


def test_columns_are_set_added_and_dropped(batch: Batch) -> None:
    """The old batch stays as it is."""
    changed = batch.with_columns(value=pa.array([1, 2, 3]), key=pa.array(["x", "y", "z"]), row=None)
    assert changed.data.schema.names == ["value", "key"]
    assert batch.data.schema.names == ["value", "row"]
    assert changed.replace(topic="u", value_schema=INT64_SCHEMA).value_schema is INT64_SCHEMA


def test_rows_are_chosen(batch: Batch) -> None:
    """All columns follow the rows."""
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
    """What Arrow IPC carries is the whole batch."""
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
