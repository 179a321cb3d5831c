"""The config store in a Kafka topic with one partition, which every host reads and the leader writes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hearth.kafka.topic_reader import StoredRecord, TopicReader
from hearth.kafka.topic_writer import SendOutcome, TopicWriter
from hearth.storage.config_record import (
    COMMIT,
    CONNECTOR,
    LOGGER,
    OWNER,
    RESTART,
    SESSION_KEY,
    TARGET,
    TASK,
    TASK_COUNT,
    commit_value,
    config_value,
    level_value,
    owner_value,
    parse_count,
    parse_level,
    parse_owner,
    parse_properties,
    parse_restart,
    parse_session_key,
    parse_target,
    parse_task,
    restart_value,
    session_key_value,
    target_value,
    task_count_value,
    task_value,
)
from hearth.storage.fenced_producer import WRITE_SECONDS, FencedProducer, Record
from hearth.storage.interface import (
    ConfigListener,
    ConfigState,
    ConfigStore,
    ConfiguredConnector,
    RestartRequest,
    SessionKey,
    TargetState,
)
from hearth.storage.json_record import from_bytes
from hearth_api import NotFoundError, RetriableError

log = logging.getLogger(__name__)


class TopicConfigStore(ConfigStore):
    """Keeps the content of the topic in memory; a write is visible here before its call returns.

    The task configurations of a connector take effect with the record that commits them. If some are missing, which
    compaction can cause, the connector has no tasks and no applied configuration, so new tasks are generated. Tasks
    and their commit are written in one transaction, as are a configuration and its target.
    """

    def __init__(self, topic: str, reader: TopicReader, producer: FencedProducer, writer: TopicWriter) -> None:
        self._topic = topic
        self._reader = reader
        self._producer = producer
        self._writer = writer
        self._lock = threading.Lock()
        self._entries: dict[str, ConfiguredConnector] = {}
        self._targets: dict[str, TargetState] = {}
        self._owners: dict[str, str] = {}
        self._uncommitted: dict[str, dict[int, dict[str, str]]] = {}
        self._task_counts: dict[str, int] = {}
        self._pending_fencing: set[str] = set()
        self._session_key: SessionKey | None = None
        self.key_offset = 0
        """The offset after the present session key, 0 without one; it grows when another host becomes leader."""
        self._offset = -1
        self._listener = ConfigListener()
        self._is_live = False
        self._readers: tuple[tuple[str, Callable[[str, Any, int], Callable[[], None] | None]], ...] = (
            (TARGET, self._take_target),
            (CONNECTOR, self._take_connector),
            (TASK, self._take_task),
            (COMMIT, self._take_commit),
            (RESTART, self._take_restart),
            (TASK_COUNT, self._take_task_count),
            (SESSION_KEY, self._take_session_key),
            (LOGGER, self._take_level),
            (OWNER, self._take_owner),
        )
        """Key prefixes in the order Kafka Connect checks them, with handlers that return the notification."""

    def start(self) -> None:
        """Notify the listener of what is read from now on; the snapshot has everything before."""
        self._is_live = True

    def snapshot(self) -> ConfigState:
        """Copy the maps; their values never change."""
        with self._lock:
            return ConfigState(
                dict(self._entries),
                self._offset,
                self._session_key,
                dict(self._task_counts),
                frozenset(self._pending_fencing),
            )

    def put_connector(self, connector: str, config: Mapping[str, str], target: TargetState | None = None) -> None:
        """Write the target, if given, and the configuration."""
        first = [] if target is None else [self._record(TARGET + connector, target_value(target))]
        self._write([*first, self._record(CONNECTOR + connector, config_value(config))])

    def remove_connector(self, connector: str) -> None:
        """Write tombstones for configuration, target and owner; the tasks go too, although their records remain."""
        kinds = (CONNECTOR, TARGET, OWNER) if connector in self._owners else (CONNECTOR, TARGET)
        self._write([self._record(kind + connector, None) for kind in kinds])

    def put_tasks(self, connector: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Write all tasks and their commit."""
        self._known(connector)
        tasks = [
            self._record(f"{TASK}{connector}-{number}", task_value(config)) for number, config in enumerate(configs)
        ]
        self._write([*tasks, self._record(COMMIT + connector, commit_value(len(configs)))])

    def remove_tasks(self, connector: str) -> None:
        """Write a commit of no tasks."""
        self.put_tasks(connector, ())

    def put_target(self, connector: str, target: TargetState) -> None:
        """Write the target."""
        self._known(connector)
        self._write([self._record(TARGET + connector, target_value(target))])

    def put_owner(self, connector: str, owner: str | None) -> None:
        """Write the owner, or a tombstone."""
        self._known(connector)
        self._write([self._record(OWNER + connector, None if owner is None else owner_value(owner))])

    def put_restart(self, request: RestartRequest) -> None:
        """Write the request, which every host reads."""
        self._write([self._record(RESTART + request.connector, restart_value(request))])

    def put_session_key(self, key: SessionKey) -> int:
        """Write the session key, and return the offset after it."""
        return self._write([self._record(SESSION_KEY, session_key_value(key))])

    def put_task_count(self, connector: str, count: int) -> None:
        """Write the number of tasks for which the producers of earlier generations were fenced (KIP-618)."""
        self._write([self._record(TASK_COUNT + connector, task_count_value(count))])

    def put_logger_level(self, namespace: str, level: str) -> None:
        """Write a log level for all hosts; any host may, as in Kafka Connect (KIP-976)."""
        sent = threading.Event()
        outcomes: list[SendOutcome] = []

        def on_sent(outcome: SendOutcome) -> None:
            outcomes.append(outcome)
            sent.set()

        self._writer.send(self._topic, (LOGGER + namespace).encode(), level_value(level), on_sent)
        if not sent.wait(WRITE_SECONDS) or outcomes[0].error is not None:
            raise RetriableError(
                f"the level of {namespace} is not written to topic {self._topic!r}: "
                f"{outcomes[0].error if outcomes else f'no answer within {WRITE_SECONDS:g} s'}",
                code="topics.unwritten",
                hint="check that the brokers are running",
            )

    def refresh(self, timeout: float) -> None:
        """Read to the end."""
        try:
            self._reader.read_to_end([self._topic], timeout)
        except RetriableError as error:
            raise TimeoutError(str(error)) from error

    def wait_for(self, offset: int, timeout: float) -> None:
        """Wait until this host has read up to another host's snapshot offset; raise TimeoutError otherwise."""
        try:
            self._reader.wait_for({(self._topic, 0): offset}, timeout)
        except RetriableError as error:
            raise TimeoutError(str(error)) from error

    def subscribe(self, listener: ConfigListener) -> None:
        """Set the listener."""
        self._listener = listener

    def take(self, record: StoredRecord) -> None:
        """Apply a record and notify the listener; an invalid record is logged and skipped."""
        key = "" if record.key is None else record.key.decode(errors="replace")
        notify = None
        try:
            value = None if record.value is None else from_bytes(record.value)
            with self._lock:
                self._offset = record.offset + 1
                notify = self._take(key, value)
        except ValueError as error:
            log.error("Ignoring record %d of topic %s with key %r: %s", record.offset, self._topic, key, error)
        if notify is not None and self._is_live:
            notify()

    def _take(self, key: str, value: Any) -> Callable[[], None] | None:
        for prefix, read in self._readers:
            if key.startswith(prefix) and (prefix != SESSION_KEY or key == prefix):
                return read(key.removeprefix(prefix), value, self._offset)
        raise ValueError("no such key is known")

    def _take_target(self, connector: str, value: Any, _revision: int) -> Callable[[], None] | None:
        """Apply a target; if its connector is deleted or not yet known, only the connector is notified."""
        target = TargetState.STARTED if value is None else parse_target(value)
        if value is None:
            self._targets.pop(connector, None)
        else:
            self._targets[connector] = target
        entry = self._entries.get(connector)
        if entry is None:
            return None
        self._entries[connector] = replace(entry, target=target)
        is_new = value is not None and target is not entry.target
        return (lambda: self._listener.on_change(connector)) if is_new else None

    def _take_connector(self, connector: str, value: Any, revision: int) -> Callable[[], None]:
        if value is None:
            self._forget(connector)
        else:
            config = parse_properties(value)
            target = self._targets.get(connector, TargetState.STARTED)
            new = ConfiguredConnector(config, target, owner=self._owners.get(connector))
            old = self._entries.get(connector, new)
            self._entries[connector] = replace(old, config=config, revision=revision)
        return lambda: self._listener.on_change(connector)

    def _take_task(self, name: str, value: Any, _revision: int) -> None:
        connector, number = parse_task(name)
        self._uncommitted.setdefault(connector, {})[number] = parse_properties(value)

    def _take_commit(self, connector: str, value: Any, revision: int) -> Callable[[], None] | None:
        """Make the tasks effective if all exist; remove those of a deleted connector."""
        entry = self._entries.get(connector)
        if entry is None:
            self._forget(connector)
            return None
        count = parse_count(value, "tasks")
        fresh = self._uncommitted.pop(connector, {})
        is_whole = all(number in fresh for number in range(count))
        self._entries[connector] = replace(
            entry,
            tasks=tuple(fresh[number] for number in range(count)) if is_whole else (),
            applied=entry.config if is_whole else None,
            tasks_revision=revision,
        )
        self._pending_fencing.add(connector)
        return lambda: self._listener.on_change(connector)

    def _take_restart(self, connector: str, value: Any, _revision: int) -> Callable[[], None]:
        request = parse_restart(connector, value)
        return lambda: self._listener.on_restart(request)

    def _take_task_count(self, connector: str, value: Any, _revision: int) -> None:
        self._task_counts[connector] = parse_count(value, "task-count")
        self._pending_fencing.discard(connector)

    def _take_session_key(self, _rest: str, value: Any, revision: int) -> Callable[[], None]:
        key = self._session_key = parse_session_key(value)
        self.key_offset = revision
        return lambda: self._listener.on_session_key(key)

    def _take_level(self, namespace: str, value: Any, _revision: int) -> Callable[[], None]:
        level = parse_level(value)
        return lambda: self._listener.on_logger_level(namespace, level)

    def _take_owner(self, connector: str, value: Any, _revision: int) -> None:
        """Apply an owner, whose record compaction may leave before that of its connector."""
        owner = None if value is None else parse_owner(value)
        if owner is None:
            self._owners.pop(connector, None)
        else:
            self._owners[connector] = owner
        if connector in self._entries:
            self._entries[connector] = replace(self._entries[connector], owner=owner)

    def _forget(self, connector: str) -> None:
        self._entries.pop(connector, None)
        self._uncommitted.pop(connector, None)

    def _record(self, key: str, value: bytes | None) -> Record:
        return Record(self._topic, key.encode(), value)

    def _write(self, records: Sequence[Record]) -> int:
        """Write records and wait until they have been read back; return the offset after them."""
        deadline = time.monotonic() + WRITE_SECONDS
        written = self._producer.write(records)
        self._reader.wait_for(written, max(1.0, deadline - time.monotonic()))
        return written[self._topic, 0]

    def _known(self, connector: str) -> None:
        with self._lock:
            if connector not in self._entries:
                raise NotFoundError(f"Unknown connector {connector}", code="connector.unknown")
