"""Records of a source in reports: their origin and content."""

from __future__ import annotations

import pyarrow as pa

from hearth.kafka.outgoing import Outgoing
from hearth.runtime.polled_record import PolledRecord, RefusedRecord
from hearth_api import INT64_SCHEMA, STRING_SCHEMA, Header, SourceRecord
from hearth_api.batch import records_by_kind

PARTITION = {"filename": "in.txt"}


def polled(row: int) -> PolledRecord:
    """Return a record of a batch of two."""
    records = [
        SourceRecord(PARTITION, {"position": 5}, "t", None, STRING_SCHEMA, "k", INT64_SCHEMA, 1),
        SourceRecord(PARTITION, {"position": 9}, "t", 3, None, None, INT64_SCHEMA, 2, 7, [Header("h", None, "x")]),
    ]
    return PolledRecord(records_by_kind(records), row)


def test_text_is_that_of_javas_record() -> None:
    """Kafka Connect's log shows the whole record where ``errors.log.include.messages`` allows it."""
    assert [polled(row).text() for row in (0, 1)] == [
        "source record is = SourceRecord{sourcePartition={filename=in.txt}, sourceOffset={position=5}} "
        "ConnectRecord{topic='t', kafkaPartition=null, key=k, keySchema=Schema{STRING}, value=1, "
        "valueSchema=Schema{INT64}, timestamp=null, headers=ConnectHeaders(headers=)}",
        "source record is = SourceRecord{sourcePartition={filename=in.txt}, sourceOffset={position=9}} "
        "ConnectRecord{topic='t', kafkaPartition=3, key=null, keySchema=null, value=2, "
        "valueSchema=Schema{INT64}, timestamp=7, "
        "headers=ConnectHeaders(headers=[ConnectHeader(key=h, value=x, schema=null)])}",
    ]


def test_place_is_where_the_record_was_read() -> None:
    """Without its value, which a status must not show."""
    place = "source partition {filename=in.txt}, source offset"
    assert polled(0).place() == f"topic 't', key 'k', {place} {{position=5}}"
    assert polled(1).place() == f"topic 't', {place} {{position=9}}"


def test_place_of_a_refused_record_has_its_size() -> None:
    """Most are refused for their size; a long key is cut."""
    key, value = pa.array([b"k" * 500]), pa.array([b"v" * 1000])
    place = RefusedRecord(Outgoing("t", value, key), {"p": 1}, None).place()
    assert place.startswith("topic 't', key 'kkk")
    assert place.endswith("kkk', 1500 bytes, source partition {p=1}, source offset null")
    assert len(place) < 250


def test_refused_record_is_shown_as_it_was_polled() -> None:
    """If the polled record was kept."""
    outgoing = Outgoing("t", pa.array([b"v"]))
    assert RefusedRecord(outgoing, PARTITION, None, polled(0)).text() == polled(0).text()
    assert RefusedRecord(outgoing, PARTITION, None).text().startswith("topic 't', 1 bytes")
