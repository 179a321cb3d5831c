"""What records of a topic of statuses come to, and which of them this host's own writes make old."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from hearth.kafka.topic_reader import StoredRecord
from hearth.kafka.topic_writer import SendOutcome
from hearth.storage import ConnectorStatus, State, TaskStatus
from hearth.storage.status_record import parse_status, parse_topic, status_value, topic_key, topic_value
from hearth.storage.status_topic import TopicStatusStore
from tests.peer.cluster_record import kept_records

NOBODY: Any = None


class SlowWriter:
    """Takes writes, and brings them to the topic when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, bytes | None, Callable[[SendOutcome], None]]] = []

    def send(self, _topic: str, key: bytes, value: bytes | None, on_sent: Callable[[SendOutcome], None]) -> None:
        """Keep a write."""
        self.waiting.append((key, value, on_sent))


class Topic:
    """A store on a topic of one partition, and whatever others write to it."""

    def __init__(self) -> None:
        self.writer = SlowWriter()
        self.may_write = True
        writer: Any = self.writer
        self.store = TopicStatusStore("statuses", NOBODY, writer, lambda: self.may_write)
        self.records: list[StoredRecord] = []

    def write(self, key: str, value: bytes | None) -> StoredRecord:
        """Have somebody else write a record, and return it; nobody has read it yet."""
        record = StoredRecord("statuses", 0, len(self.records), key.encode(), value)
        self.records.append(record)
        return record

    def write_first(self) -> tuple[StoredRecord, Callable[[], None]]:
        """Bring the first of the own writes to the topic: the record, and what tells the store so."""
        key, value, on_sent = self.writer.waiting.pop(0)
        record = self.write(key.decode(), value)
        return record, lambda: on_sent(SendOutcome(record.offset))


@pytest.fixture
def topic() -> Topic:
    """Provide a topic without records."""
    return Topic()


def status(state: State, worker: str = "me:1", generation: int = 1) -> ConnectorStatus:
    """Return a status of the connector c."""
    return ConnectorStatus("c", state, worker, generation)


def test_what_java_wrote_is_written_alike() -> None:
    """To the byte, with traces."""
    seen = set()
    for record in kept_records():
        if record.kind != "status" or record.value is None:
            continue
        value = record.value.encode()
        if record.key.startswith("status-topic-"):
            connector, name = parse_topic(record.key)
            held = json.loads(record.value)["topic"]
            assert topic_value(connector, held["task"], name, held["discoverTimestamp"]) == value
            assert topic_key(connector, name) == record.key
        else:
            parsed = parse_status(status(State.UNASSIGNED), value)
            assert status_value(parsed) == value
            seen.add(parsed.state)
    assert seen >= {State.RUNNING, State.PAUSED, State.FAILED, State.STOPPED, State.UNASSIGNED, State.RESTARTING}


def test_all_of_javas_records_are_understood(topic: Topic, caplog: pytest.LogCaptureFixture) -> None:
    """What is left at the end is what Java would show."""
    topic.may_write = False
    for record in kept_records():
        if record.kind == "status":
            topic.store.take(topic.write(record.key, None if record.value is None else record.value.encode()))
    assert caplog.text == ""
    assert topic.store.connector("gone") is None
    assert topic.store.tasks("gone") == []
    assert topic.store.topics("gone") == []
    assert topic.store.topics("source-1") == ["golden-lines"]
    assert [(each.task, each.state) for each in topic.store.tasks("sink-2")] == [(0, State.FAILED), (1, State.FAILED)]


@pytest.mark.parametrize("is_read_first", [True, False])
def test_reading_own_writes_changes_nothing(topic: Topic, is_read_first: bool) -> None:
    """An older one that is read after a newer one was put is no news, whatever is told first."""
    topic.store.put_connector(status(State.RUNNING))
    topic.store.put_connector(status(State.PAUSED))
    for _ in range(2):
        record, tell = topic.write_first()
        acts = (partial(topic.store.take, record), tell)
        for act in acts if is_read_first else reversed(acts):
            act()
            assert topic.store.connector("c") == status(State.PAUSED)
    assert topic.store._ahead == {}


def test_what_another_writes_behind_an_own_write_counts(topic: Topic) -> None:
    """Whether it is read before or after this host is told where its own was written."""
    for is_told_first in (True, False):
        topic.store.put_connector(status(State.RUNNING))
        own, tell = topic.write_first()
        other = topic.write("status-connector-c", status_value(status(State.PAUSED, "other:1", 2)))
        if is_told_first:
            tell()
        topic.store.take(own)
        topic.store.take(other)
        if not is_told_first:
            assert topic.store.connector("c") == status(State.RUNNING)
            tell()
        assert topic.store.connector("c") == status(State.PAUSED, "other:1", 2)


def test_what_another_wrote_before_an_own_write_does_not_count(topic: Topic) -> None:
    """It is read later, and is older."""
    other = topic.write("status-connector-c", status_value(status(State.PAUSED, "other:1", 1)))
    topic.store.put_connector(status(State.RUNNING))
    own, tell = topic.write_first()
    topic.store.take(other)
    tell()
    topic.store.take(own)
    assert topic.store.connector("c") == status(State.RUNNING)


def test_a_write_that_failed_holds_nothing_back(topic: Topic, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged; what others write counts."""
    topic.store.put_connector(status(State.RUNNING))
    _, _, on_sent = topic.writer.waiting.pop()
    on_sent(SendOutcome(error="too large"))
    assert "status status-connector-c is not written: too large" in caplog.text
    topic.store.take(topic.write("status-connector-c", status_value(status(State.PAUSED, "other:1", 2))))
    assert topic.store.connector("c") == status(State.PAUSED, "other:1", 2)


@pytest.mark.parametrize("state", [State.UNASSIGNED, State.FAILED, State.RUNNING])
def test_what_a_host_may_not_know_any_more_is_written_with_care(topic: Topic, state: State) -> None:
    """``putSafe``: not over that of another host in a later generation."""
    topic.store.take(topic.write("status-connector-c", status_value(status(State.RUNNING, "other:1", 5))))
    topic.store.put_connector(status(state, generation=4))
    assert bool(topic.writer.waiting) is (state is State.RUNNING)
    topic.store.put_connector(status(state, generation=5))
    assert topic.store.connector("c") == status(state, generation=5)


def test_a_running_task_is_not_unassigned_by_the_past(topic: Topic) -> None:
    """The guard of Java's reader, for tasks."""
    running = TaskStatus("c", 0, State.RUNNING, "new:1", 5)
    topic.may_write = False
    topic.store.take(topic.write("status-task-c-0", status_value(running)))
    for generation in (4, 5):
        late = TaskStatus("c", 0, State.UNASSIGNED, "old:1", generation)
        topic.store.take(topic.write("status-task-c-0", status_value(late)))
        assert topic.store.task("c", 0) == running


def test_the_leader_says_again_what_an_earlier_one_wrote_over(topic: Topic) -> None:
    """One that was stopped goes on, and does not know yet."""
    topic.store.put_task(TaskStatus("c", 0, State.RUNNING, "me:1", 5))
    own, tell = topic.write_first()
    tell()
    topic.store.take(own)
    late = TaskStatus("c", 0, State.FAILED, "old:1", 4)
    topic.store.take(topic.write("status-task-c-0", status_value(late)))
    assert topic.store.task("c", 0) == TaskStatus("c", 0, State.RUNNING, "me:1", 5)
    assert topic.write_first()[0].value == own.value


def test_readers_do_not_take_what_a_leader_of_before_says_late(topic: Topic) -> None:
    """It fails its tasks when it goes on, which others run by then; Java's own statuses count with their numbers."""
    topic.may_write = False
    running = TaskStatus("c", 0, State.RUNNING, "new:1", 5)
    topic.store.take(topic.write("status-task-c-0", status_value(running)))
    for late in (State.FAILED, State.UNASSIGNED):
        topic.store.take(topic.write("status-task-c-0", status_value(TaskStatus("c", 0, late, "old:1", 4))))
        assert topic.store.task("c", 0) == running
    taken_over = TaskStatus("c", 0, State.RUNNING, "java:1", 3)
    failed = TaskStatus("c", 0, State.FAILED, "java:1", 3)
    for status_of_java in (taken_over, failed):
        topic.store.take(topic.write("status-task-c-0", status_value(status_of_java)))
        assert topic.store.task("c", 0) == status_of_java
    assert topic.store.next_generation == 6


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nonsense", b"{}"),
        ("status-connector-", b"{}"),
        ("status-connector-c", b"no JSON"),
        ("status-connector-c", b"[]"),
        ("status-connector-c", b'{"state":"ODD","trace":null,"worker_id":"w","generation":1}'),
        ("status-connector-c", b'{"state":"RUNNING","trace":null,"worker_id":"w","generation":"1"}'),
        ("status-task-c", b"{}"),
        ("status-task-c-x", b"{}"),
        ("status-topic-t", b"{}"),
        ("status-topic-:connector-c", b"{}"),
    ],
)
def test_garbage_is_passed_over(topic: Topic, caplog: pytest.LogCaptureFixture, key: str, value: bytes) -> None:
    """With a warning; what stood before still does."""
    before = status(State.RUNNING)
    topic.store.take(topic.write("status-connector-c", status_value(before)))
    topic.store.take(topic.write(key, value))
    assert topic.store.connector("c") == before
    assert "Discarding record with" in caplog.text


def test_a_record_of_before_versions_has_none(topic: Topic) -> None:
    """Kafka wrote them without that member until 4.1."""
    old = b'{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":3}'
    topic.store.take(topic.write("status-connector-c", old))
    assert topic.store.connector("c") == status(State.RUNNING, "w:1", 3)
