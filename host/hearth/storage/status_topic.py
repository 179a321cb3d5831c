"""Statuses in a Kafka topic, which every host of a cluster reads and the one that leads writes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from hearth.kafka.topic_reader import StoredRecord, TopicReader
from hearth.kafka.topic_writer import SendOutcome, TopicWriter
from hearth.storage.interface import ConnectorStatus, State, TaskStatus
from hearth.storage.memory import MemoryStatusStore
from hearth.storage.status_record import (
    CONNECTOR,
    TASK,
    TOPIC,
    Status,
    connector_key,
    parse_status,
    parse_task,
    parse_topic,
    status_value,
    task_key,
    topic_key,
    topic_value,
)
from hearth_api import RetriableError

log = logging.getLogger(__name__)

SAFE = (State.UNASSIGNED, State.FAILED)
"""States that a host only writes where no other has written a later one (``StatusBackingStore.putSafe``)."""


@dataclass
class _Ahead:
    """Writes of one key that were not read back yet: how many are on their way, and where the last was written."""

    on_their_way: int = 0
    offset: int = -1
    held: StoredRecord | None = None
    """The last record that was read meanwhile, which somebody else may have written behind them."""


class TopicStatusStore(MemoryStatusStore):
    """Keeps in memory what the topic says, and shows what this host writes at once.

    Nobody waits for a status to be written: it goes out in the order it was put, and what stands in the topic before a
    write of this host says nothing new of that key. A host that may not write only reads. One that does not know yet
    that it leads no more may still write, and the host that leads then writes what it knows once more.
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
        """Held while a status is shown and sent, so that both happen in one order."""

    def put_connector(self, status: ConnectorStatus) -> None:
        """Show it and send it; a connector that is gone takes its topics along."""
        with self._order:
            if self._may_put(self.connector(status.connector), status):
                if status.state is State.DESTROYED:
                    self.reset_topics(status.connector)
                super().put_connector(status)
                self._send(connector_key(status.connector), status_value(status))

    def put_task(self, status: TaskStatus) -> None:
        """Show it and send it."""
        with self._order:
            if self._may_put(self.task(status.connector, status.task), status):
                super().put_task(status)
                self._send(task_key(status.connector, status.task), status_value(status))

    def add_topic(self, connector: str, topic: str) -> None:
        """Send a topic unless it is known; which of the tasks met it is not kept, it is noted as the first."""
        with self._order:
            if self._may_write() and topic not in self.topics(connector):
                super().add_topic(connector, topic)
                now = int(time.time() * 1000)
                self._send(topic_key(connector, topic), topic_value(connector, 0, topic, now))

    def reset_topics(self, connector: str) -> None:
        """Send that each of the topics is gone."""
        with self._order:
            if self._may_write():
                for topic in self.topics(connector):
                    self._send(topic_key(connector, topic), None)
                super().reset_topics(connector)

    @property
    def next_generation(self) -> int:
        """Return a number greater than every generation of which a status was read, of Java's workers as well."""
        return self._last_generation + 1

    def take(self, record: StoredRecord) -> None:
        """Note what a record says, unless this host has written the same key behind it."""
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
        """Read to the end; TimeoutError when that takes more than ``timeout`` seconds."""
        try:
            self._reader.read_to_end([self._topic], timeout)
        except RetriableError as error:
            raise TimeoutError(str(error)) from error

    def forget_writes(self) -> None:
        """Wait for no write any more: this host may not write, and what others write counts."""
        with self._order:
            self._ahead.clear()

    def _may_put(self, known: Status | None, status: Status) -> bool:
        """Return whether this host may write, and whether that of another is not to stay in its place."""
        return self._may_write() and _is_safe(known, status)

    def _send(self, key: str, value: bytes | None) -> None:
        ahead = self._ahead.setdefault(key, _Ahead())
        ahead.on_their_way += 1
        self._writer.send(self._topic, key.encode(), value, lambda outcome: self._on_sent(key, ahead, outcome))

    def _on_sent(self, key: str, ahead: _Ahead, outcome: SendOutcome) -> None:
        """Note where a status was written, or that it was not; on the reader's thread."""
        if outcome.error is not None:
            log.error("status %s is not written: %s", key, outcome.error)
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
        """Return whether a record stands behind this host's last write of its key, which waits for nothing then."""
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
            else:
                log.warning("Discarding record with invalid key %s", key)
        except ValueError as error:
            log.warning("Discarding record with key %s: %s", key, error)

    def _note_connector(self, key: str, value: bytes | None) -> None:
        connector = key.removeprefix(CONNECTOR)
        if not connector:
            raise ValueError("it names no connector")
        status = None if value is None else parse_status(ConnectorStatus(connector, State.UNASSIGNED, ""), value)
        if status is not None and self._is_late(key, self.connector(connector), status):
            return
        with self._lock:
            if status is None:
                self._connectors.pop(connector, None)
            else:
                self._connectors[connector] = status

    def _note_task(self, key: str, value: bytes | None) -> None:
        """Note a task's status; that it is nowhere counts for nothing where it runs in a later generation."""
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
        """Return whether a status says nothing new: it is of a host that led before, and does not know that yet.

        A host that leads writes once more what it says itself.
        """
        self._last_generation = max(self._last_generation, status.generation)
        if known is None or status.generation >= known.generation:
            return False
        if self._may_write():
            self._send(key, status_value(known))
            return True
        return not _is_safe(known, status)

    def _note_topic(self, key: str, value: bytes | None) -> None:
        connector, topic = parse_topic(key)
        if value is not None:
            super().add_topic(connector, topic)
            return
        with self._lock:
            self._topics.get(connector, {}).pop(topic, None)


def _is_safe(known: Status | None, status: Status) -> bool:
    """Return whether a status may take the place of another (``CacheEntry.canWriteSafely``)."""
    is_newer = known is None or known.worker_id == status.worker_id or known.generation <= status.generation
    return is_newer or status.state not in SAFE
