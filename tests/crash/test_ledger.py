"""The ledger's own tests: it detects the faults it exists for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from hearth.storage.file import FileOffsetStore
from tests.crash.ledger import WIDTH, Ledger, Track, line, number_of
from tests.peer.topic import Record, Topics


@pytest.fixture
def ledger(tmp_path: Path, topics: Topics, request: pytest.FixtureRequest) -> Iterator[Ledger]:
    """Provide the ledger of a pipeline that the test itself plays."""
    name = request.node.name.replace("_", "-")
    topics.create(name)
    with closing(Ledger(tmp_path, topics.bootstrap_servers, name, tmp_path / "connect.offsets")) as opened:
        yield opened


def deliver(ledger: Ledger, topics: Topics, numbers: list[int]) -> None:
    """Write lines to the topic and to the sink file."""
    topics.produce(ledger.source.stem, [Record(None, line(number).rstrip(b"\n")) for number in numbers])
    with ledger.sink.open("ab") as file:
        file.write(b"".join(line(number) for number in numbers))


def commit(ledger: Ledger, position: int) -> None:
    """Store a position of the source file, as a host does."""
    store = FileOffsetStore(ledger.sink.parent / "connect.offsets")
    partition = {"filename": str(ledger.source)}
    store.put(f"{ledger.source.stem}-source", [(partition, {"position": position})])


def commit_group(ledger: Ledger, topics: Topics, offset: int) -> None:
    """Commit an offset of the topic, as a sink task does."""
    name = ledger.source.stem
    consumer: Any = Consumer({"bootstrap.servers": topics.bootstrap_servers, "group.id": f"connect-{name}-sink"})
    consumer.commit(offsets=[TopicPartition(name, 0, offset)], asynchronous=False)
    consumer.close()


def test_a_line_has_its_number_and_torn_text_is_separated() -> None:
    """A line torn by a kill precedes the next one and is separated from it."""
    assert len(line(7)) == WIDTH
    assert number_of(line(7)[:-1]) == (7, b"")
    assert number_of(line(6)[:5] + line(7)[:-1]) == (7, line(6)[:5])
    with pytest.raises(AssertionError, match="damaged"):
        number_of(line(7)[:10] + b"00000000")


def test_repeats_are_counted_and_are_not_faults() -> None:
    """At least once: a run may start further back."""
    track = Track("here")
    for number in [0, 1, 2, 1, 2, 3]:
        track.add(number)
    assert (track.reach, track.repeats, track.rewinds, track.faults) == (4, 2, 1, [])


@pytest.mark.parametrize("numbers", [[0, 2], [1], [0, 1, 2, 0, 2]])
def test_a_number_out_of_order_is_a_fault(numbers: list[int]) -> None:
    """Invariant 4: within a run lines are consecutive, and no run starts past the lines that arrived."""
    track = Track("here")
    for number in numbers:
        track.add(number)
    assert len(track.faults) == 1


def test_exactly_once_requires_arrival_and_commit(ledger: Ledger, topics: Topics) -> None:
    """The proof covers topic, file and stored position; the sink has no group here, so the last step fails."""
    ledger.write(3)
    deliver(ledger, topics, [0, 1, 2])
    commit(ledger, 3 * WIDTH)
    ledger.prove()
    with pytest.raises(AssertionError, match="3 lines written"):
        ledger.prove_exactly_once(timeout=1.0)


def test_a_lost_line_is_noticed(ledger: Ledger, topics: Topics) -> None:
    """Invariant 3: no record vanishes."""
    ledger.write(3)
    deliver(ledger, topics, [0, 2])
    with pytest.raises(AssertionError, match="did not arrive"):
        ledger.prove(timeout=0.1)


def test_a_position_past_the_topic_is_noticed(ledger: Ledger, topics: Topics) -> None:
    """Invariant 1: nothing is acknowledged before it is durable."""
    ledger.write(3)
    deliver(ledger, topics, [0, 1])
    commit(ledger, 3 * WIDTH)
    assert ledger.look()
    deliver(ledger, topics, [2])
    with pytest.raises(AssertionError, match="position 57 is committed, the topic has 2 lines"):
        ledger.prove()


def test_a_group_offset_past_the_file_is_noticed(ledger: Ledger, topics: Topics) -> None:
    """Invariant 1 at the other end: an offset is committed only when its record is in the file."""
    ledger.write(2)
    deliver(ledger, topics, [0, 1])
    ledger.sink.write_bytes(line(0))
    commit_group(ledger, topics, 2)
    assert ledger.look()
    with ledger.sink.open("ab") as file:
        file.write(line(1))
    with pytest.raises(AssertionError, match="offset 2 is committed, the file has 1 lines"):
        ledger.prove()
