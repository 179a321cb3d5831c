"""Columns hold what another client wrote to a real broker's topics."""

from __future__ import annotations

import time

import numpy as np
import pytest

from hearth.kafka import c_memory, fetched, header_block
from hearth.kafka.fetched import Incoming, MessageReader
from hearth.kafka.library import library
from hearth_api import TopicPartition
from hearth_execution.raw_header import raw_rows
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT
from tests.unit.kafka.member import Join, NewTopic, filled, poll_until


def test_structure_of_fetched_messages_is_known() -> None:
    """A newer librdkafka works, slower: compare its rd_kafka_msg_t with FETCHED, then add the version."""
    assert c_memory.message_type(library()) is c_memory.FETCHED


@pytest.mark.parametrize(
    ("versions", "is_compiled"),
    [(c_memory._KNOWN_FETCHED, True), ((), True), (c_memory._KNOWN_FETCHED, False)],
    ids=["known", "unknown", "not compiled"],
)
@pytest.mark.parametrize(("time_type", "kind"), [("CreateTime", 1), ("LogAppendTime", 2)])
def test_rows_come_as_they_were_written(
    topics: Topics,
    new_topic: NewTopic,
    join: Join,
    group: str,
    monkeypatch: pytest.MonkeyPatch,
    versions: tuple[int, ...],
    is_compiled: bool,
    time_type: str,
    kind: int,
) -> None:
    """Keys, values, headers, times and offsets are those of the topic, whatever reads them; null is not empty."""
    monkeypatch.setattr(c_memory, "_KNOWN_FETCHED", versions)
    if not is_compiled:
        monkeypatch.setattr(c_memory, "IS_COMPILED", False)
        monkeypatch.setattr(header_block, "IS_COMPILED", False)
    topic = new_topic(**{"message.timestamp.type": time_type})
    started = int(time.time() * 1000)
    headers: tuple[tuple[str, bytes | None], ...] = (("b", b"1"), ("a", None), ("b", b""), ("größe", b"\xff"))
    topics.produce(
        topic,
        [
            Record(b"k", b"v", headers, 0, 1000),
            Record(None, None, (), 0, 2000),
            Record(b"", b"", (("only", b"x"),), 0, 3000),
        ],
    )
    member = join(topic, group=group)
    parts: list[Incoming] = []
    deadline = time.monotonic() + TIMEOUT
    while len(member.rows) < 3 and time.monotonic() < deadline:
        parts += member.poll()
    assert member.rows == [(topic, 0, 0, b"k", b"v"), (topic, 0, 1, None, None), (topic, 0, 2, b"", b"")]
    stamps = [stamp for part in parts for stamp in part.timestamp.tolist()]
    assert stamps == [1000, 2000, 3000] if kind == 1 else all(started <= stamp <= started + 60_000 for stamp in stamps)
    assert {part.timestamp_type for part in parts} == {kind}
    found = [own for part in parts for own in ([[]] if part.headers is None else raw_rows(part.headers))]
    assert found == [list(headers), [], [("only", b"x")]]


def test_unwanted_timestamps_are_not_read(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """Rows then have no timestamps, and the type says so."""
    member = join(filled(topics, new_topic(), b"a"), group=group)
    member.consumer.wants_timestamps = False
    parts: list[Incoming] = []
    deadline = time.monotonic() + TIMEOUT
    while not parts and time.monotonic() < deadline:
        parts += member.poll()
    assert (parts[0].timestamp, parts[0].timestamp_type) == (None, 0)


def test_rows_of_several_topics_and_partitions_stay_apart(
    topics: Topics, new_topic: NewTopic, join: Join, group: str
) -> None:
    """Each part is of one topic; within a partition the order is the topic's."""
    first, second = new_topic(2), new_topic()
    filled(topics, first, b"a0", b"a1")
    filled(topics, first, b"b0", b"b1", partition=1)
    filled(topics, second, b"c0")
    member = join(first, second, group=group)
    poll_until(lambda: len(member.rows) >= 5, member)
    for topic, partition, values in [(first, 0, [b"a0", b"a1"]), (first, 1, [b"b0", b"b1"]), (second, 0, [b"c0"])]:
        assert [row[4] for row in member.rows if row[:2] == (topic, partition)] == values
    assert member.assigned == {TopicPartition(first, 0), TopicPartition(first, 1), TopicPartition(second, 0)}


def test_a_piece_is_limited_in_bytes(
    topics: Topics, new_topic: NewTopic, join: Join, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its count is estimated from earlier messages; a message larger than a piece comes alone."""
    monkeypatch.setattr(fetched, "FIRST_MESSAGES", 2)
    monkeypatch.setattr(fetched, "PIECE_BYTES", 1000)
    member = join(filled(topics, new_topic(), *[bytes(100)] * 30, *[bytes(2000)] * 3), group=group)
    pieces: list[int] = []
    deadline = time.monotonic() + TIMEOUT
    while sum(pieces) < 33 and time.monotonic() < deadline:
        pieces += [len(part.offset) for part in member.poll()]
    assert (sum(pieces), pieces[0], max(pieces), pieces[-1]) == (33, 2, 10, 1)


def test_timestamp_types_are_separated(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """A topic with a changed ``message.timestamp.type`` has both; every row keeps its own."""
    topic = filled(topics, new_topic(), b"created")
    topics.configure(topic, {"message.timestamp.type": "LogAppendTime"})
    filled(topics, topic, b"appended")
    member = join(topic, group=group)
    found: list[Incoming] = []
    deadline = time.monotonic() + TIMEOUT
    while sum(len(part.offset) for part in found) < 2 and time.monotonic() < deadline:
        found += member.poll()
    assert [(part.value.to_pylist(), part.timestamp_type) for part in found] == [([b"created"], 1), ([b"appended"], 2)]


def test_nothing_fetched_is_no_columns() -> None:
    """An empty poll costs no work."""
    reader = MessageReader()
    none = np.array([], np.uintp)
    assert reader.columns(reader.structures(none), none) == []
