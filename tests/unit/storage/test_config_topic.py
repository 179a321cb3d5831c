"""The configurations in a config topic, whatever host wrote the records and after any compaction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hearth.kafka.topic_reader import StoredRecord
from hearth.storage import ConfigListener, ConfiguredConnector, RestartRequest, SessionKey, TargetState
from hearth.storage.config_record import (
    commit_value,
    config_value,
    level_value,
    owner_value,
    restart_value,
    session_key_value,
    target_value,
    task_count_value,
    task_value,
)
from hearth.storage.config_topic import TopicConfigStore
from tests.peer.cluster_record import kept_records

NOBODY: Any = None
"""A client of the topic, which these tests do not use."""


class Heard(ConfigListener):
    """Records notifications."""

    def __init__(self) -> None:
        self.changes: list[Any] = []

    def on_change(self, connector: str) -> None:
        """Record it."""
        self.changes.append(connector)

    def on_restart(self, request: RestartRequest) -> None:
        """Record it."""
        self.changes.append(request)

    def on_session_key(self, key: SessionKey) -> None:
        """Record it."""
        self.changes.append(key)

    def on_logger_level(self, namespace: str, level: str) -> None:
        """Record it."""
        self.changes.append((namespace, level))


class Topic:
    """A store that reads records one by one."""

    def __init__(self, is_live: bool = True) -> None:
        self.store = TopicConfigStore("configs", NOBODY, NOBODY, NOBODY)
        self.heard = Heard()
        self.store.subscribe(self.heard)
        self.offset = 0
        if is_live:
            self.store.start()

    def take(self, key: str | None, value: bytes | None) -> None:
        """Have the store read another record."""
        encoded = None if key is None else key.encode()
        self.store.take(StoredRecord("configs", 0, self.offset, encoded, value))
        self.offset += 1

    def entry(self, connector: str = "c") -> ConfiguredConnector | None:
        """Return the entry of a connector."""
        return self.store.snapshot().find(connector)


@pytest.fixture
def topic() -> Topic:
    """Provide a topic whose history has been read."""
    return Topic()


def test_tasks_take_effect_with_their_commit(topic: Topic) -> None:
    """All together, and with the configuration they were generated from."""
    topic.take("connector-c", config_value({"a": "1"}))
    topic.take("task-c-0", task_value({"n": "0"}))
    topic.take("task-c-1", task_value({"n": "1"}))
    topic.take("connector-c", config_value({"a": "2"}))
    entry = topic.entry()
    assert entry is not None
    assert entry.tasks == ()
    topic.take("commit-c", commit_value(2))
    assert topic.entry() == ConfiguredConnector(
        {"a": "2"}, TargetState.STARTED, ({"n": "0"}, {"n": "1"}), {"a": "2"}, revision=4, tasks_revision=5
    )
    assert topic.store.snapshot().offset == 5


def test_a_commit_with_missing_tasks_is_ignored(topic: Topic) -> None:
    """Compaction may have removed some: the connector then has no tasks, and new ones take effect."""
    topic.take("connector-c", config_value({"a": "1"}))
    topic.take("task-c-1", task_value({"n": "old"}))
    topic.take("commit-c", commit_value(2))
    entry = topic.entry()
    assert entry is not None
    assert (entry.tasks, entry.applied) == ((), None)
    topic.take("task-c-0", task_value({"n": "0"}))
    topic.take("commit-c", commit_value(1))
    entry = topic.entry()
    assert entry is not None
    assert entry.tasks == ({"n": "0"},)


def test_tasks_beyond_the_number_of_a_commit_are_ignored(topic: Topic) -> None:
    """Compaction keeps the records of a connector that had more tasks."""
    topic.take("connector-c", config_value({}))
    topic.take("task-c-1", task_value({"n": "old"}))
    topic.take("task-c-0", task_value({"n": "new"}))
    topic.take("commit-c", commit_value(1))
    entry = topic.entry()
    assert entry is not None
    assert entry.tasks == ({"n": "new"},)


def test_a_deleted_connector_loses_its_tasks(topic: Topic) -> None:
    """A new one of its name starts without tasks, and an old commit is ignored."""
    topic.take("connector-c", config_value({}))
    topic.take("task-c-0", task_value({}))
    topic.take("commit-c", commit_value(1))
    topic.take("connector-c", None)
    topic.take("target-state-c", None)
    assert topic.entry() is None
    topic.take("task-c-0", task_value({}))
    topic.take("commit-c", commit_value(1))
    topic.take("connector-c", config_value({}))
    entry = topic.entry()
    assert entry is not None
    assert entry.tasks == ()


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ({"state": "PAUSED"}, TargetState.PAUSED),
        ({"state": "PAUSED", "state.v2": "STOPPED"}, TargetState.STOPPED),
        ({"state": "PAUSED", "state.v2": 1}, TargetState.PAUSED),
        ({"state": "STARTED", "state.v2": None}, TargetState.STARTED),
    ],
)
def test_the_newer_field_of_a_target_takes_precedence(topic: Topic, value: object, target: TargetState) -> None:
    """Workers older than Kafka 3.5 wrote only the older one."""
    topic.take("connector-c", config_value({}))
    topic.take("target-state-c", json.dumps(value).encode())
    entry = topic.entry()
    assert entry is not None
    assert entry.target is target


def test_a_target_before_its_connector_takes_effect(topic: Topic) -> None:
    """Without a notification; a deleted target means STARTED."""
    topic.take("target-state-c", target_value(TargetState.STOPPED))
    assert topic.heard.changes == []
    topic.take("connector-c", config_value({}))
    entry = topic.entry()
    assert entry is not None
    assert entry.target is TargetState.STOPPED
    topic.take("target-state-c", None)
    entry = topic.entry()
    assert entry is not None
    assert entry.target is TargetState.STARTED
    assert topic.heard.changes == ["c"]


def test_names_with_hyphens_and_key_prefixes_are_distinguished(topic: Topic) -> None:
    """The task number follows the last hyphen."""
    name = "task-1-connector-2"
    topic.take(f"connector-{name}", config_value({}))
    topic.take(f"task-{name}-0", task_value({"n": "0"}))
    topic.take(f"commit-{name}", commit_value(1))
    entry = topic.entry(name)
    assert entry is not None
    assert entry.tasks == ({"n": "0"},)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"{}"),
        ("nonsense-c", b"{}"),
        ("session-key-of-others", b"{}"),
        ("connector-c", b"no JSON"),
        ("connector-c", b"[]"),
        ("connector-c", b'{"properties":[]}'),
        ("connector-c", b'{"properties":{"a":1}}'),
        ("task-c", b'{"properties":{}}'),
        ("task-c-x", b'{"properties":{}}'),
        ("task-c-0", None),
        ("commit-c", b'{"tasks":"1"}'),
        ("commit-c", b'{"tasks":-1}'),
        ("commit-c", None),
        ("target-state-c", b'{"state":"ELSEWHERE"}'),
        ("target-state-c", b'"PAUSED"'),
        ("restart-connector-c", None),
        ("tasks-fencing-c", b"{}"),
        ("session-key", b'{"key":"%","algorithm":"HmacSHA256","creation-timestamp":1}'),
        ("session-key", b'{"key":"aGk=","algorithm":"HmacSHA256","creation-timestamp":"1"}'),
        ("logger-cluster-x", b'{"level":1}'),
    ],
)
def test_an_invalid_record_is_logged_and_skipped(
    topic: Topic, caplog: pytest.LogCaptureFixture, key: str | None, value: bytes | None
) -> None:
    """The earlier content remains, and there is no notification."""
    topic.take("connector-c", config_value({"a": "1"}))
    before = topic.entry()
    topic.heard.changes.clear()
    topic.take(key, value)
    assert topic.entry() == before
    assert topic.heard.changes == []
    assert "Ignoring record 1 of topic configs" in caplog.text
    topic.take("connector-c", config_value({"a": "2"}))
    assert topic.entry() != before


def test_reading_the_history_sends_no_notifications() -> None:
    """Restarts and log levels before startup are over; configurations are in the snapshot."""
    topic = Topic(is_live=False)
    topic.take("connector-c", config_value({}))
    topic.take("restart-connector-c", restart_value(RestartRequest("c")))
    topic.take("logger-cluster-x", level_value("DEBUG"))
    assert topic.heard.changes == []
    assert topic.entry() is not None
    topic.store.start()
    topic.take("restart-connector-c", restart_value(RestartRequest("c", only_failed=True)))
    topic.take("logger-cluster-x", level_value("INFO"))
    key = SessionKey(b"12345", "HmacSHA256", 7)
    topic.take("session-key", session_key_value(key))
    assert topic.heard.changes == [RestartRequest("c", only_failed=True), ("x", "INFO"), key]
    assert topic.store.snapshot().session_key == key


def test_new_tasks_are_pending_until_the_fencing_record(topic: Topic) -> None:
    """The last task count outlives its connector, whose producers may still exist."""
    topic.take("connector-c", config_value({}))
    topic.take("task-c-0", task_value({}))
    topic.take("commit-c", commit_value(1))
    assert topic.store.snapshot().pending_fencing == {"c"}
    topic.take("tasks-fencing-c", task_count_value(1))
    topic.take("connector-c", None)
    state = topic.store.snapshot()
    assert (state.task_counts, state.pending_fencing) == ({"c": 1}, frozenset())


def test_an_owner_is_read_before_or_after_its_connector(topic: Topic) -> None:
    """Compaction may leave its record first; a record that is no owner changes nothing."""
    topic.take("hearth-owner-c", owner_value("team"))
    assert topic.entry() is None
    topic.take("connector-c", config_value({}))
    topic.take("hearth-owner-c", b"{}")
    owners = [found.owner for found in (topic.entry(),) if found]
    topic.take("hearth-owner-c", owner_value("other"))
    topic.take("connector-c", config_value({"a": "1"}))
    owners += [found.owner for found in (topic.entry(),) if found]
    topic.take("hearth-owner-c", None)
    owners += [found.owner for found in (topic.entry(),) if found]
    assert owners == ["team", "other", None]
    assert [each for each in topic.heard.changes if each != "c"] == []


def test_a_configuration_is_read_in_the_order_of_a_hash_map() -> None:
    """In a Java worker's order; it was created as connector.class, file, topic, tasks.max, batch.size, name."""
    asked = {"connector.class": "C", "file": "f", "topic": "t", "tasks.max": "1", "batch.size": "7", "name": "c"}
    topic = Topic()
    topic.take("connector-c", config_value(asked))
    entry = topic.store.snapshot().find("c")
    assert entry is not None
    assert list(entry.config) == ["connector.class", "file", "tasks.max", "batch.size", "name", "topic"]


def test_records_of_a_java_worker_are_rewritten_identically() -> None:
    """Byte for byte, after reading each."""
    topic = Topic()
    seen = set()
    for record in kept_records():
        if record.kind != "config" or record.value is None:
            continue
        topic.take(record.key, record.value.encode())
        kind, value = written(topic, record.key, json.loads(record.value))
        assert value == record.value.encode(), record.key
        seen.add(kind)
    expected = {"target-state", "connector", "task", "commit", "restart", "tasks-fencing", "session-key", "logger"}
    assert seen == expected


def written(topic: Topic, key: str, value: Any) -> tuple[str, bytes]:
    """Return the record that the store would write for what it has just read."""
    state = topic.store.snapshot()
    if key.startswith("target-state-"):
        return "target-state", target_value(TargetState(value["state.v2"]))
    if key.startswith("connector-"):
        entry = state.find(key.removeprefix("connector-"))
        assert entry is not None
        assert entry.config == value["properties"]
        return "connector", config_value(value["properties"])
    if key.startswith("task-"):
        return "task", task_value(dict(sorted(value["properties"].items())))
    if key.startswith("commit-"):
        entry = state.find(key.removeprefix("commit-"))
        assert entry is not None
        assert len(entry.tasks) == value["tasks"]
        return "commit", commit_value(len(entry.tasks))
    if key.startswith("tasks-fencing-"):
        return "tasks-fencing", task_count_value(state.task_counts[key.removeprefix("tasks-fencing-")])
    change = topic.heard.changes[-1]
    if isinstance(change, RestartRequest):
        return "restart", restart_value(change)
    return ("session-key", session_key_value(change)) if key == "session-key" else ("logger", level_value(change[1]))
