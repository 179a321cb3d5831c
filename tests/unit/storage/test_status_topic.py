"""The statuses that the records of a status topic add up to, and which of them own writes supersede."""

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
    """Queues writes until a test delivers them."""

    def __init__(self) -> None:
        self.waiting: list[tuple[bytes, bytes | None, Callable[[SendOutcome], None]]] = []

    def send(self, _topic: str, key: bytes, value: bytes | None, on_sent: Callable[[SendOutcome], None]) -> None:
        """Keep a write."""
        self.waiting.append((key, value, on_sent))


class Topic:
    """A store on a topic with one partition, to which other hosts write as well."""

    def __init__(self) -> None:
        self.writer = SlowWriter()
        self.may_write = True
        writer: Any = self.writer
        self.store = TopicStatusStore("statuses", NOBODY, writer, lambda: self.may_write)
        self.records: list[StoredRecord] = []

    def write(self, key: str, value: bytes | None) -> StoredRecord:
        """Write a record of another host, and return it unread."""
        record = StoredRecord("statuses", 0, len(self.records), key.encode(), value)
        self.records.append(record)
        return record

    def write_first(self) -> tuple[StoredRecord, Callable[[], None]]:
        """Write the first own record to the topic; return it with its delivery report."""
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


def test_records_of_a_java_worker_are_rewritten_identically() -> None:
    """Byte for byte, with traces."""
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


def test_all_records_of_a_java_worker_are_read(topic: Topic, caplog: pytest.LogCaptureFixture) -> None:
    """The final statuses are those that Java shows."""
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
    """An older record that is read after a newer one was put is ignored, in whatever order the reports arrive."""
    topic.store.put_connector(status(State.RUNNING))
    topic.store.put_connector(status(State.PAUSED))
    for _ in range(2):
        record, notify = topic.write_first()
        acts = (partial(topic.store.take, record), notify)
        for act in acts if is_read_first else reversed(acts):
            act()
            assert topic.store.connector("c") == status(State.PAUSED)
    assert topic.store._ahead == {}


def test_a_record_after_the_last_own_write_takes_effect(topic: Topic) -> None:
    """Whether it is read before or after the delivery report of the own write."""
    for is_notified_first in (True, False):
        topic.store.put_connector(status(State.RUNNING))
        own, notify = topic.write_first()
        other = topic.write("status-connector-c", status_value(status(State.PAUSED, "other:1", 2)))
        if is_notified_first:
            notify()
        topic.store.take(own)
        topic.store.take(other)
        if not is_notified_first:
            assert topic.store.connector("c") == status(State.RUNNING)
            notify()
        assert topic.store.connector("c") == status(State.PAUSED, "other:1", 2)


def test_a_record_before_the_last_own_write_is_ignored(topic: Topic) -> None:
    """It is read later, but is older."""
    other = topic.write("status-connector-c", status_value(status(State.PAUSED, "other:1", 1)))
    topic.store.put_connector(status(State.RUNNING))
    own, notify = topic.write_first()
    topic.store.take(other)
    notify()
    topic.store.take(own)
    assert topic.store.connector("c") == status(State.RUNNING)


def test_a_failed_write_does_not_block_others(topic: Topic, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged; other hosts' records take effect."""
    topic.store.put_connector(status(State.RUNNING))
    _, _, on_sent = topic.writer.waiting.pop()
    on_sent(SendOutcome(error="too large"))
    assert "status status-connector-c was not written: too large" in caplog.text
    topic.store.take(topic.write("status-connector-c", status_value(status(State.PAUSED, "other:1", 2))))
    assert topic.store.connector("c") == status(State.PAUSED, "other:1", 2)


@pytest.mark.parametrize("state", [State.UNASSIGNED, State.FAILED, State.RUNNING])
def test_uncertain_states_are_written_safely(topic: Topic, state: State) -> None:
    """``putSafe``: not over that of another host in a later generation."""
    topic.store.take(topic.write("status-connector-c", status_value(status(State.RUNNING, "other:1", 5))))
    topic.store.put_connector(status(state, generation=4))
    assert bool(topic.writer.waiting) is (state is State.RUNNING)
    topic.store.put_connector(status(state, generation=5))
    assert topic.store.connector("c") == status(state, generation=5)


def test_an_outdated_unassigned_does_not_override_a_running_task(topic: Topic) -> None:
    """The guard of Java's reader, for tasks."""
    running = TaskStatus("c", 0, State.RUNNING, "new:1", 5)
    topic.may_write = False
    topic.store.take(topic.write("status-task-c-0", status_value(running)))
    for generation in (4, 5):
        late = TaskStatus("c", 0, State.UNASSIGNED, "old:1", generation)
        topic.store.take(topic.write("status-task-c-0", status_value(late)))
        assert topic.store.task("c", 0) == running


def test_the_leader_rewrites_a_status_overwritten_by_an_earlier_one(topic: Topic) -> None:
    """A suspended leader resumes and has not noticed its loss of leadership."""
    topic.store.put_task(TaskStatus("c", 0, State.RUNNING, "me:1", 5))
    own, notify = topic.write_first()
    notify()
    topic.store.take(own)
    late = TaskStatus("c", 0, State.FAILED, "old:1", 4)
    topic.store.take(topic.write("status-task-c-0", status_value(late)))
    assert topic.store.task("c", 0) == TaskStatus("c", 0, State.RUNNING, "me:1", 5)
    assert topic.write_first()[0].value == own.value


def test_readers_ignore_late_statuses_of_an_earlier_leader(topic: Topic) -> None:
    """It reports tasks as failed that run elsewhere by then; Java statuses are ordered by generation."""
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
def test_an_invalid_record_is_skipped(topic: Topic, caplog: pytest.LogCaptureFixture, key: str, value: bytes) -> None:
    """With a warning; the earlier status remains."""
    before = status(State.RUNNING)
    topic.store.take(topic.write("status-connector-c", status_value(before)))
    topic.store.take(topic.write(key, value))
    assert topic.store.connector("c") == before
    assert "Discarding record with" in caplog.text


def test_an_old_record_has_no_version(topic: Topic) -> None:
    """Kafka wrote statuses without this field until 4.1."""
    old = b'{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":3}'
    topic.store.take(topic.write("status-connector-c", old))
    assert topic.store.connector("c") == status(State.RUNNING, "w:1", 3)
