"""Stores in memory."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hearth.storage.interface import (
    ConfigListener,
    ConfigState,
    ConfigStore,
    ConfiguredConnector,
    ConnectorStatus,
    OffsetStore,
    RestartRequest,
    State,
    StatusStore,
    TargetState,
    TaskStatus,
)
from hearth_api import NotFoundError

OffsetMap = dict[str, dict[str, tuple[dict[str, Any], dict[str, Any]]]]
"""Connector to the canonical text of each partition to the partition and its offset."""


def partition_key(partition: Mapping[str, Any]) -> str:
    """Return a text that is equal for equal partitions."""
    return json.dumps(partition, sort_keys=True, separators=(",", ":"))


def with_offsets(
    stored: OffsetMap, connector: str, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
) -> OffsetMap:
    """Return a copy of the map with these offsets."""
    mine = dict(stored.get(connector, {}))
    for partition, offset in offsets:
        key = partition_key(partition)
        if offset is None:
            mine.pop(key, None)
        else:
            mine[key] = (dict(partition), dict(offset))
    return {**stored, connector: mine}


class MemoryOffsetStore(OffsetStore):
    """Keeps offsets until the process ends."""

    def __init__(self, stored: OffsetMap | None = None) -> None:
        self._lock = threading.Lock()
        self._stored: OffsetMap = stored or {}

    def get(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Look each partition up."""
        mine = self._stored.get(connector, {})
        found = [mine.get(partition_key(partition)) for partition in partitions]
        return [None if each is None else dict(each[1]) for each in found]

    def put(self, connector: str, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
        """Build the new map, make it durable, and only then publish it.

        Because of this order (Invariant 5), readers still see what is stored if writing fails.
        """
        with self._lock:
            changed = with_offsets(self._stored, connector, offsets)
            self._write(changed)
            self._stored = changed

    def partitions(self, connector: str) -> list[dict[str, Any]]:
        """List the partitions in the order they were first stored."""
        return [dict(partition) for partition, _ in self._stored.get(connector, {}).values()]

    def _write(self, changed: OffsetMap) -> None:
        """Make a map durable; does nothing in memory."""


class MemoryStatusStore(StatusStore):
    """Keeps statuses until the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connectors: dict[str, ConnectorStatus] = {}
        self._tasks: dict[str, dict[int, TaskStatus]] = {}
        self._topics: dict[str, dict[str, None]] = {}
        self._runs: dict[tuple[str, int], Mapping[str, Any]] = {}

    def put_connector(self, status: ConnectorStatus) -> None:
        """Replace the status, or remove it if DESTROYED."""
        with self._lock:
            if status.state is State.DESTROYED:
                self._connectors.pop(status.connector, None)
                self._topics.pop(status.connector, None)
                self._runs = {place: each for place, each in self._runs.items() if place[0] != status.connector}
            else:
                self._connectors[status.connector] = status

    def put_task(self, status: TaskStatus) -> None:
        """Replace the status, or remove it if DESTROYED."""
        with self._lock:
            mine = self._tasks.setdefault(status.connector, {})
            if status.state is State.DESTROYED:
                mine.pop(status.task, None)
            else:
                mine[status.task] = status

    def connector(self, connector: str) -> ConnectorStatus | None:
        """Look the connector up."""
        return self._connectors.get(connector)

    def task(self, connector: str, task: int) -> TaskStatus | None:
        """Look the task up."""
        with self._lock:
            return self._tasks.get(connector, {}).get(task)

    def tasks(self, connector: str) -> list[TaskStatus]:
        """List the tasks by number."""
        with self._lock:
            mine = self._tasks.get(connector, {})
            return [mine[number] for number in sorted(mine)]

    def put_runs(self, connector: str, task: int, runs: Mapping[str, Any] | None) -> None:
        """Replace or remove them."""
        with self._lock:
            if runs is None:
                self._runs.pop((connector, task), None)
            else:
                self._runs[connector, task] = runs

    def runs(self, connector: str, task: int) -> Mapping[str, Any] | None:
        """Look them up."""
        return self._runs.get((connector, task))

    def add_topic(self, connector: str, topic: str) -> None:
        """Add the topic unless it is known."""
        with self._lock:
            self._topics.setdefault(connector, {}).setdefault(topic)

    def topics(self, connector: str) -> list[str]:
        """List the topics."""
        with self._lock:
            return list(self._topics.get(connector, {}))

    def reset_topics(self, connector: str) -> None:
        """Drop the topics."""
        with self._lock:
            self._topics.pop(connector, None)


class MemoryConfigStore(ConfigStore):
    """Keeps configurations until the process ends, as in Kafka Connect's standalone mode."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, ConfiguredConnector] = {}
        self._task_counts: dict[str, int] = {}
        self._pending_fencing: set[str] = set()
        self._writes = itertools.count(1)
        self._listener = ConfigListener()

    def snapshot(self) -> ConfigState:
        """Copy the maps; their values never change."""
        with self._lock:
            return ConfigState(
                dict(self._entries),
                task_counts=dict(self._task_counts),
                pending_fencing=frozenset(self._pending_fencing),
            )

    def put_connector(self, connector: str, config: Mapping[str, str], target: TargetState | None = None) -> None:
        """Store target and configuration in one step."""
        with self._lock:
            old = self._entries.get(connector, ConfiguredConnector({}))
            self._entries[connector] = replace(
                old, config=dict(config), target=target or old.target, revision=next(self._writes)
            )
        self._listener.on_change(connector)

    def remove_connector(self, connector: str) -> None:
        """Remove everything of the connector."""
        with self._lock:
            self._entries.pop(connector, None)
        self._listener.on_change(connector)

    def put_tasks(self, connector: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Store the tasks and the configuration they were generated from."""
        with self._lock:
            old = self._known(connector)
            tasks = tuple(dict(config) for config in configs)
            self._pending_fencing.add(connector)
            self._entries[connector] = replace(old, tasks=tasks, applied=old.config, tasks_revision=next(self._writes))
        self._listener.on_change(connector)

    def remove_tasks(self, connector: str) -> None:
        """Remove the tasks."""
        with self._lock:
            old = self._known(connector)
            self._pending_fencing.add(connector)
            self._entries[connector] = replace(old, tasks=(), applied=None, tasks_revision=next(self._writes))
        self._listener.on_change(connector)

    def put_task_count(self, connector: str, count: int) -> None:
        """Store the number; it needs no connector."""
        with self._lock:
            self._task_counts[connector] = count
            self._pending_fencing.discard(connector)

    def put_target(self, connector: str, target: TargetState) -> None:
        """Store the target and notify the listener if it changed."""
        with self._lock:
            old = self._known(connector)
            self._entries[connector] = replace(old, target=target)
        if target is not old.target:
            self._listener.on_change(connector)

    def put_owner(self, connector: str, owner: str | None) -> None:
        """Store the owner with the connector."""
        with self._lock:
            self._entries[connector] = replace(self._known(connector), owner=owner)

    def put_restart(self, request: RestartRequest) -> None:
        """Notify the listener."""
        self._listener.on_restart(request)

    def refresh(self, timeout: float) -> None:
        """Do nothing: no other host writes to this store."""

    def subscribe(self, listener: ConfigListener) -> None:
        """Set the listener."""
        self._listener = listener

    def _known(self, connector: str) -> ConfiguredConnector:
        if connector not in self._entries:
            raise NotFoundError(f"Unknown connector {connector}", code="connector.unknown")
        return self._entries[connector]
