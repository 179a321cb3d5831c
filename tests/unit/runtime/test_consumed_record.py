"""Consumed records: their description, and how a stage sends them back."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from hearth.runtime.consumed_record import Consumed, as_consumed
from hearth_api import TopicPartition
from hearth_api.batch import Batch
from hearth_execution.raw_header import raw_column, raw_rows
from tests.unit.runtime.test_delivery import incoming


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_record_comes_back_from_a_stage_as_it_was_consumed(kind: int) -> None:
    """Bytes, times and headers travel with a put, and one row of them back with a report."""
    sent = replace(incoming((0, 5), (1, 6), kind=kind), headers=raw_column([[], [("h", b"1"), ("h", None)]]))
    rows = as_consumed(sent)
    back = [Consumed.of(Batch.from_arrow(rows.slice(row, 1).to_arrow())) for row in (0, 1)]
    assert [(each.partition, each.offset) for each in back] == [
        (TopicPartition("t", 0), 5),
        (TopicPartition("t", 1), 6),
    ]
    assert [each.incoming.value.to_pylist() for each in back] == [[b"0/5"], [b"1/6"]]
    assert [raw_rows(each.incoming.headers) for each in back] == [[[]], [[("h", b"1"), ("h", None)]]]
    assert [each.text() for each in back] == [Consumed(sent, row).text() for row in (0, 1)]


def test_record_is_described_as_kafka_connect_does() -> None:
    """The error log names topic, partition, offset and time, where there is one."""
    assert Consumed(incoming((3, 7)), 0).text() == (
        "consumed record is {topic='t', partition=3, offset=7, timestamp=70, timestampType=CreateTime}"
    )
    assert Consumed(incoming((3, 7), kind=0), 0).text() == "consumed record is {topic='t', partition=3, offset=7}"


def test_description_of_a_record_identifies_it() -> None:
    """Topic, partition, offset, key, size and formats, and nothing of its value."""
    record = replace(incoming((3, 7), (3, 8)), key=pa.array([None, b"order \xff 8"], pa.binary()))
    assert Consumed(record, 0).place() == "topic 't', partition 3, offset 7, 3 bytes (value text)"
    place = "topic 't', partition 3, offset 8, key 'order \ufffd 8', 12 bytes (key binary, value text)"
    assert Consumed(record, 1).place() == place
