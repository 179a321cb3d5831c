"""Records of a sink are built from the rows of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    STRING_SCHEMA,
    Schema,
    SinkRecord,
    TimestampType,
)
from hearth_api.batch import Batch, arrow_type, batch_to_sink_records, records_to_batches
from hearth_api.batch.sink_row import BUILD, build_by_loop, build_one_by_one
from tests.unit.hearth_api.batch.test_batch_record import parts, sent, sink_records

WAYS = [
    pytest.param(build_by_loop, marks=pytest.mark.skipif(BUILD is build_one_by_one, reason="nothing is compiled")),
    build_one_by_one,
]
Way = Callable[[Batch], list[SinkRecord]]


@pytest.mark.parametrize("way", WAYS)
@given(sink_records(), st.integers(0, 3))
def test_both_ways_build_the_records_of_any_rows(way: Way, records: list[SinkRecord], start: int) -> None:
    """All parts of each record, of all rows of a batch or of a slice."""
    batches = sent(records_to_batches(records))
    wanted: list[SinkRecord] = []
    for batch in batches:
        wanted += records[: batch.num_rows][start:]
        records = records[batch.num_rows :]
    found = [record for batch in batches for record in way(batch.slice(min(start, batch.num_rows)))]
    assert list(map(parts, found)) == list(map(parts, wanted))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("schema", "values"),
    [
        (INT8_SCHEMA, [-128, None, 127]),
        (INT16_SCHEMA, [-32768, None, 32767]),
        (FLOAT32_SCHEMA, [0.5, None, -1.0]),
        (FLOAT64_SCHEMA, [0.1, None, -1e300]),
        (STRING_SCHEMA, ["", None, "a\0ü"]),
        (BYTES_SCHEMA, [b"", None, b"\0\xff"]),
        (STRING_SCHEMA, ["", "", ""]),
        (STRING_SCHEMA, [None, None, None]),
    ],
)
@pytest.mark.parametrize("start", [0, 1, 3])
def test_plain_values_are_read_in_place(way: Way, schema: Schema, values: list[Any], start: int) -> None:
    """With nulls, from any row on."""
    column = pa.array(values, arrow_type(schema))
    data = pa.RecordBatch.from_arrays([column, column, pa.array([1, 2, 3])], names=["key", "value", "offset"])
    found = way(Batch("t", schema, schema, data).slice(start))
    assert [(each.key, each.value, each.kafka_offset) for each in found] == [
        (value, value, place + 1) for place, value in enumerate(values) if place >= start
    ]


@pytest.mark.parametrize("way", WAYS)
def test_column_of_a_related_arrow_type_is_read(way: Way) -> None:
    """A plugin's Arrow code may return large strings, whose memory is laid out in another way."""
    data = pa.RecordBatch.from_arrays([pa.array(["a", "bc"], pa.large_string())], names=["value"])
    assert [each.value for each in way(Batch("t", None, STRING_SCHEMA, data))] == ["a", "bc"]


@pytest.mark.parametrize("way", WAYS)
def test_text_that_is_no_utf_8_is_refused(way: Way) -> None:
    """As Arrow refuses it."""
    column = pa.array([b"\xff"]).view(pa.string())
    data = pa.RecordBatch.from_arrays([column], names=["value"])
    with pytest.raises(UnicodeDecodeError):
        way(Batch("t", None, STRING_SCHEMA, data))


@pytest.mark.parametrize("way", WAYS)
def test_records_refer_to_their_messages(way: Way) -> None:
    """By the number in the column `row`."""
    messages = object()
    data = pa.RecordBatch.from_arrays([pa.array(["a", "b"]), pa.array([5, 7], pa.int32())], names=["value", "row"])
    found = way(Batch("t", None, STRING_SCHEMA, data, None, TimestampType.CREATE_TIME, "u", consumed=messages))
    assert [(each.consumed, each.original_topic) for each in found] == [((messages, 5), "u"), ((messages, 7), "u")]


def test_records_do_not_keep_their_batch_alive() -> None:
    """A sink may keep one record of each put: its parts are copies."""
    before = pa.total_allocated_bytes()
    data = pa.RecordBatch.from_arrays([pa.array(["x" * 1000] * 100)], names=["value"])
    batch = Batch("t", None, STRING_SCHEMA, data)
    records = batch_to_sink_records(batch)
    del batch, data
    assert len(records) == 100
    assert pa.total_allocated_bytes() <= before
