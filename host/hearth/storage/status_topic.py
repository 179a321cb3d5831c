"""The status store in a Kafka topic, which every host reads and the leader writes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hearth.kafka.topic_reader import StoredRecord, TopicReader
from hearth.kafka.topic_writer import SendOutcome, TopicWriter
from hearth.storage.interface import ConnectorStatus, State, TaskStatus
from hearth.storage.json_record import from_bytes, to_bytes
from hearth.storage.memory import MemoryStatusStore
from hearth.storage.status_record import (
    CONNECTOR,
    RUNS,
    TASK,
    TOPIC,
    Status,
    connector_key,
    parse_status,
    parse_task,
    parse_topic,
    runs_key,
    status_value,
    task_key,
    topic_key,
    topic_value,
)
from hearth_api import RetriableError

log = logging.getLogger(__name__)

SAFE = (State.UNASSIGNED, State.FAILED)
"""States that are only written if no later status of another host exists (``StatusBackingStore.putSafe``)."""


@dataclass
class _Ahead:
    """Pending writes of one key: how many are in flight, and the offset of the last one written."""

    on_their_way: int = 0
    offset: int = -1
    held: StoredRecord | None = None
    """The last record read meanwhile, which another host may have written after them."""


class TopicStatusStore(MemoryStatusStore):
    """Keeps the content of the topic in memory, and shows its own writes at once.

    Writes are asynchronous but keep their order. A record read from before this host's last write of its key is
    outdated and ignored. A host without the right to write only reads. A host that has not noticed its loss of
    leadership may still write; the leader then writes its own status again.
    """

    def __init__(self, topic: str, reader: TopicReader, writer: TopicWriter, may_write: Callable[[], bool]) -> None:
        super().__init__()
        self._topic = topic
        self._reader = reader
        self._writer = writer
        self._may_write = may_write
        self._ahead: dict[str, _Ahead] = {}
        self._last_generation = 0
        self._order = threading.RLock()
        """Held while a status is shown and sent, so that both happen in the same order."""

    def put_connector(self, status: ConnectorStatus) -> None:
        """Show and send it; a deleted connector's topics are removed as well."""
        with self._order:
            if self._may_put(self.connector(status.connector), status):
                if status.state is State.DESTROYED:
                    self.reset_topics(status.connector)
                    for connector, task in [*self._runs]:
                        if connector == status.connector:
                            self.put_runs(connector, task, None)
                super().put_connector(status)
                self._send(connector_key(status.connector), status_value(status))

    def put_task(self, status: TaskStatus) -> None:
        """Show and send it."""
        with self._order:
            if self._may_put(self.task(status.connector, status.task), status):
                super().put_task(status)
                self._send(task_key(status.connector, status.task), status_value(status))

    def put_runs(self, connector: str, task: int, runs: Mapping[str, Any] | None) -> None:
        """Show and send them."""
        with self._order:
            if self._may_write():
                super().put_runs(connector, task, runs)
                self._send(runs_key(connector, task), None if runs is None else to_bytes(runs))

    def add_topic(self, connector: str, topic: str) -> None:
        """Send a topic unless it is known; it is attributed to task 0, whichever task used it."""
        with self._order:
            if self._may_write() and topic not in self.topics(connector):
                super().add_topic(connector, topic)
                now = int(time.time() * 1000)
                self._send(topic_key(connector, topic), topic_value(connector, 0, topic, now))

    def reset_topics(self, connector: str) -> None:
        """Send tombstones of all topics."""
        with self._order:
            if self._may_write():
                for topic in self.topics(connector):
                    self._send(topic_key(connector, topic), None)
                super().reset_topics(connector)

    @property
    def next_generation(self) -> int:
        """Return a number greater than every generation read from a status, including those of Java workers."""
        return self._last_generation + 1

    def take(self, record: StoredRecord) -> None:
        """Apply a record, unless this host has written the same key after it."""
        if record.key is None:
            log.warning("Discarding record without a key at offset %d of %s", record.offset, record.topic)
            return
        key = record.key.decode(errors="replace")
        with self._order:
            ahead = self._ahead.get(key)
            if ahead is not None and ahead.on_their_way:
                ahead.held = record
            elif ahead is None or self._is_behind(key, ahead, record):
                self._note(key, record.value)

    def refresh(self, timeout: float) -> None:
        """Read to the end; raise TimeoutError after ``timeout`` seconds."""
        try:
            self._reader.read_to_end([self._topic], timeout)
        except RetriableError as error:
            raise TimeoutError(str(error)) from error

    def forget_writes(self) -> None:
        """Discard pending writes: this host may not write, and other hosts' records take effect."""
        with self._order:
            self._ahead.clear()

    def _may_put(self, known: Status | None, status: Status) -> bool:
        """Return whether this host may write, and whether a status of another host has precedence."""
        return self._may_write() and _is_safe(known, status)

    def _send(self, key: str, value: bytes | None) -> None:
        ahead = self._ahead.setdefault(key, _Ahead())
        ahead.on_their_way += 1
        self._writer.send(self._topic, key.encode(), value, lambda outcome: self._on_sent(key, ahead, outcome))

    def _on_sent(self, key: str, ahead: _Ahead, outcome: SendOutcome) -> None:
        """Record where a status was written, or that it failed; runs on the reader's thread."""
        if outcome.error is not None:
            log.error("status %s was not written: %s", key, outcome.error)
        with self._order:
            ahead.on_their_way -= 1
            ahead.offset = max(ahead.offset, outcome.offset)
            if ahead.on_their_way or self._ahead.get(key) is not ahead:
                return
            if ahead.offset < 0:
                del self._ahead[key]
            held, ahead.held = ahead.held, None
            if held is not None:
                self.take(held)

    def _is_behind(self, key: str, ahead: _Ahead, record: StoredRecord) -> bool:
        """Return whether a record follows this host's last write of its key, which is then no longer pending."""
        if record.offset >= ahead.offset:
            del self._ahead[key]
        return record.offset > ahead.offset

    def _note(self, key: str, value: bytes | None) -> None:
        try:
            if key.startswith(CONNECTOR):
                self._note_connector(key, value)
            elif key.startswith(TASK):
                self._note_task(key, value)
            elif key.startswith(TOPIC):
                self._note_topic(key, value)
            elif key.startswith(RUNS):
                self._note_runs(key, value)
            else:
                log.warning("Discarding record with invalid key %s", key)
        except ValueError as error:
            log.warning("Discarding record with key %s: %s", key, error)

    def _note_connector(self, key: str, value: bytes | None) -> None:
        connector = key.removeprefix(CONNECTOR)
        if not connector:
            raise ValueError("it does not name a connector")
        status = None if value is None else parse_status(ConnectorStatus(connector, State.UNASSIGNED, ""), value)
        if status is not None and self._is_late(key, self.connector(connector), status):
            return
        with self._lock:
            if status is None:
                self._connectors.pop(connector, None)
            else:
                self._connectors[connector] = status

    def _note_task(self, key: str, value: bytes | None) -> None:
        """Apply a task's status; ignore UNASSIGNED if the task runs in a later generation."""
        connector, task = parse_task(key)
        if value is None:
            super().put_task(TaskStatus(connector, task, State.DESTROYED, ""))
            return
        status = parse_status(TaskStatus(connector, task, State.UNASSIGNED, ""), value)
        known = self.task(connector, task)
        runs_later = known is not None and known.state is State.RUNNING and known.generation >= status.generation
        is_late = self._is_late(key, known, status)
        if is_late or (status.state is State.UNASSIGNED and runs_later):
            return
        super().put_task(status)

    def _is_late(self, key: str, known: Status | None, status: Status) -> bool:
        """Return whether a status comes from an earlier leader that has not noticed its loss of leadership.

        The leader writes its own status again.
        """
        self._last_generation = max(self._last_generation, status.generation)
        if known is None or status.generation >= known.generation:
            return False
        if self._may_write():
            self._send(key, status_value(known))
            return True
        return not _is_safe(known, status)

    def _note_runs(self, key: str, value: bytes | None) -> None:
        connector, task = parse_task(key, RUNS)
        runs = None if value is None else from_bytes(value)
        if runs is not None and not isinstance(runs, dict):
            raise ValueError("it is no map")
        super().put_runs(connector, task, runs)

    def _note_topic(self, key: str, value: bytes | None) -> None:
        connector, topic = parse_topic(key)
        if value is not None:
            super().add_topic(connector, topic)
            return
        with self._lock:
            self._topics.get(connector, {}).pop(topic, None)


def _is_safe(known: Status | None, status: Status) -> bool:
    """Return whether a status may replace another (``CacheEntry.canWriteSafely``)."""
    is_newer = known is None or known.worker_id == status.worker_id or known.generation <= status.generation
    return is_newer or status.state not in SAFE
