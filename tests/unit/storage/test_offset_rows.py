"""The offsets that the records of an offsets topic add up to."""

from __future__ import annotations

import json

import pytest

from hearth.kafka.topic_reader import StoredRecord
from hearth.storage.offset_record import offset_key, offset_value, parse_offset
from hearth.storage.offset_rows import OffsetRows
from tests.peer.cluster_record import kept_records


def test_records_of_a_java_worker_are_rewritten_identically() -> None:
    """Keys and values are the same bytes, so both find each other's records."""
    records = [record for record in kept_records() if record.kind == "offset"]
    for record in records:
        value = None if record.value is None else record.value.encode()
        parsed = parse_offset(record.key.encode(), value)
        assert parsed is not None
        connector, partition, offset = parsed
        assert (offset_key(connector, partition), offset_value(offset)) == (record.key.encode(), value)
    assert {json.loads(record.key)[0] for record in records} == {"source-1", "gone"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        (b"no JSON", b"{}"),
        (b"{}", b"{}"),
        (b'["c"]', b"{}"),
        (b'[1,{"p":1}]', b"{}"),
        (b'["c",[1]]', b"{}"),
        (b'["c",null]', b"{}"),
        (b'["c",{"p":1}]', b"[1]"),
        (b'["c",{"p":1}]', b"\xff"),
    ],
)
def test_an_invalid_record_is_skipped(caplog: pytest.LogCaptureFixture, key: bytes | None, value: bytes) -> None:
    """With a warning, unless only its partition is missing, as in `OffsetUtils`."""
    rows = OffsetRows()
    rows.take(StoredRecord("offsets", 0, 0, b'["c",{"p":1}]', b'{"o":1}'))
    rows.take(StoredRecord("offsets", 0, 1, key, value))
    assert [row.partition for row in rows.rows("c").values()] == [{"p": 1}]
    assert ("Ignoring record 1 of topic offsets" in caplog.text) is (key != b'["c",null]')


def test_a_partition_is_removed_with_its_last_key() -> None:
    """A writer may delete one of two keys of the same partition because it knows no other."""
    rows = OffsetRows()
    for offset, (key, value) in enumerate([(b'["c",{"p":1}]', b"{}"), (b'["c", {"p":1}]', b'{"o":2}')]):
        rows.take(StoredRecord("offsets", 0, offset, key, value))
    assert [row.partition for row in rows.rows("c").values()] == [{"p": 1}]
    rows.take(StoredRecord("offsets", 0, 2, b'["c",{"p":1}]', None))
    rows.take(StoredRecord("offsets", 0, 3, b'["c", {"p":1}]', None))
    assert rows.rows("c") == {}
