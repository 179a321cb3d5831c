"""Interfaces of the three stores, and the values they hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from hearth_api import ConflictError


class NotLeading(ConflictError):
    """This host is not the leader, so it cannot make changes."""

    code = "host.not_leading"
    hint = "send the request to the leading host"


class State(str, Enum):
    """The state of a connector or a task in a status; the values are Kafka Connect's."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"
    DESTROYED = "DESTROYED"

    def __str__(self) -> str:
        """Return the value."""
        return self.value


class TargetState(str, Enum):
    """The state a user requests for a connector: running, paused with its tasks, or stopped without tasks."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"

    def __str__(self) -> str:
        """Return the value."""
        return self.value


@dataclass(frozen=True)
class ConnectorStatus:
    """The last reported state of a connector; `version` is None if the plugin has none."""

    connector: str
    state: State
    worker_id: str
    generation: int = 0
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class TaskStatus:
    """The last reported state of a task."""

    connector: str
    task: int
    state: State
    worker_id: str
    generation: int = 0
    trace: str | None = None
    version: str | None = None


class Store:
    """What all stores share; the defaults suit a store without external resources."""

    def start(self) -> None:
        """Read what is stored; called before anything else."""

    def close(self) -> None:
        """Release resources; all writes have completed."""


class StatusStore(Store, ABC):
    """Keeps the last status of every connector and task, and the topics that each connector has used.

    Thread-safe. A status with the state DESTROYED removes the entry, and that of a connector its topics and runs.
    """

    @abstractmethod
    def put_connector(self, status: ConnectorStatus) -> None:
        """Replace the status of a connector."""

    @abstractmethod
    def put_task(self, status: TaskStatus) -> None:
        """Replace the status of a task."""

    @abstractmethod
    def connector(self, connector: str) -> ConnectorStatus | None:
        """Return the status of a connector, or None."""

    @abstractmethod
    def task(self, connector: str, task: int) -> TaskStatus | None:
        """Return the status of a task, or None."""

    @abstractmethod
    def tasks(self, connector: str) -> list[TaskStatus]:
        """Return the statuses of a connector's tasks, ordered by number."""

    @abstractmethod
    def put_runs(self, connector: str, task: int, runs: Mapping[str, Any] | None) -> None:
        """Keep what became of the runs of a task, in JSON's types; None removes it."""

    @abstractmethod
    def runs(self, connector: str, task: int) -> Mapping[str, Any] | None:
        """Return what became of the runs of a task, None if nothing is kept."""

    @abstractmethod
    def add_topic(self, connector: str, topic: str) -> None:
        """Record that a connector wrote to or read from a topic; idempotent."""

    @abstractmethod
    def topics(self, connector: str) -> list[str]:
        """Return the recorded topics of a connector in the order they were first seen."""

    @abstractmethod
    def reset_topics(self, connector: str) -> None:
        """Remove the recorded topics of a connector."""


@dataclass(frozen=True)
class RestartRequest:
    """A user's request to restart a connector, its tasks, or only the failed ones."""

    connector: str
    only_failed: bool = False
    include_tasks: bool = False

    def wants_connector(self, state: State) -> bool:
        """Return whether a connector in this state is restarted."""
        return not self.only_failed or state is State.FAILED

    def wants_task(self, state: State) -> bool:
        """Return whether a task in this state is restarted."""
        return self.include_tasks and (not self.only_failed or state is State.FAILED)


@dataclass(frozen=True)
class ConfiguredConnector:
    """The config store's entry of one connector: raw strings with unresolved variables."""

    config: Mapping[str, str]
    target: TargetState = TargetState.STARTED
    tasks: tuple[Mapping[str, str], ...] = ()
    applied: Mapping[str, str] | None = None
    """The configuration from which the present tasks were generated; None if there are none or they are outdated."""
    revision: int = 0
    """Revision of the configuration; every write has a greater one, even if it changes nothing."""
    tasks_revision: int = 0
    """Revision of the tasks; 0 if there have never been any."""
    owner: str | None = None
    """Who manages the connector, for example the name of a repository; None if nobody said so."""


@dataclass(frozen=True)
class SessionKey:
    """The key with which the hosts of a cluster sign internal requests, and its creation time."""

    key: bytes = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True)
class ConfigState:
    """A consistent snapshot of the config store; fields that only clusters need are empty elsewhere."""

    entries: Mapping[str, ConfiguredConnector] = field(default_factory=dict)
    offset: int = -1
    """The topic offset up to which this was read; greater means later."""
    session_key: SessionKey | None = None
    task_counts: Mapping[str, int] = field(default_factory=dict)
    """Number of tasks of each connector for which earlier producers were last fenced (KIP-618)."""
    pending_fencing: frozenset[str] = frozenset()
    """Connectors with new tasks since that fencing."""

    def connectors(self) -> list[str]:
        """Return the names of all connectors in order of creation."""
        return list(self.entries)

    def find(self, connector: str) -> ConfiguredConnector | None:
        """Return the entry of a connector, or None."""
        return self.entries.get(connector)


class ConfigListener:
    """Receives the changes of the config store, whether made by this host or another.

    Called on the writing (memory) or reading (topic) thread, so it must only record the change and return. `snapshot`
    already shows the change.
    """

    def on_change(self, connector: str) -> None:
        """A connector's configuration, tasks or target have changed, or it was deleted."""

    def on_restart(self, request: RestartRequest) -> None:
        """A user requests a restart, possibly on another host; an event, not part of the content."""

    def on_session_key(self, key: SessionKey) -> None:
        """Hosts sign with another key from now on."""

    def on_logger_level(self, namespace: str, level: str) -> None:
        """A user requests a log level on every host; an event, not part of the content."""


class ConfigStore(Store, ABC):
    """Keeps connector configurations, task configurations and target states.

    Thread-safe. When a write returns, `snapshot` shows it and the listener has been notified.
    """

    @abstractmethod
    def snapshot(self) -> ConfigState:
        """Return the present content as an immutable snapshot."""

    @abstractmethod
    def put_connector(self, connector: str, config: Mapping[str, str], target: TargetState | None = None) -> None:
        """Create or replace a configuration; the target defaults to the present one, or STARTED.

        The target is stored first, so that no task of a connector created as STOPPED ever starts.
        """

    @abstractmethod
    def remove_connector(self, connector: str) -> None:
        """Remove a connector and its tasks; source offsets, which are in another store, remain."""

    @abstractmethod
    def put_tasks(self, connector: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Replace all task configurations and record the connector configuration they were generated from.

        Like the other methods on tasks and targets, raises NotFoundError if the connector does not exist.
        """

    @abstractmethod
    def remove_tasks(self, connector: str) -> None:
        """Remove the task configurations."""

    @abstractmethod
    def put_task_count(self, connector: str, count: int) -> None:
        """Record that transactional producers of the present tasks may start, and the number of tasks (KIP-618).

        The number outlives the connector, so the producers of a deleted connector of the same name are fenced as well.
        """

    @abstractmethod
    def put_target(self, connector: str, target: TargetState) -> None:
        """Set the target state of a connector; the listener is notified if it changes."""

    @abstractmethod
    def put_owner(self, connector: str, owner: str | None) -> None:
        """Record who manages a connector, None for nobody; a deleted connector loses its owner. Nobody is notified."""

    @abstractmethod
    def put_restart(self, request: RestartRequest) -> None:
        """Send a restart request to the listeners of all hosts that share this store."""

    @abstractmethod
    def subscribe(self, listener: ConfigListener) -> None:
        """Set the listener for changes from now on; there is one."""

    @abstractmethod
    def refresh(self, timeout: float) -> None:
        """Read what other hosts wrote; raise TimeoutError after ``timeout`` seconds."""


class OffsetStore(Store, ABC):
    """Keeps the committed source offsets of every connector by source partition.

    Thread-safe. Partitions and offsets are maps of JSON values; partitions are the same if their maps are equal,
    regardless of key order. Invariant 5: writes are atomic.
    """

    @abstractmethod
    def get(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the offset of each partition, or None."""

    @abstractmethod
    def put(self, connector: str, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
        """Store offsets durably; None removes a partition.

        Raises RetriableError, and keeps the old offsets, if the new ones could not be made durable.
        """

    @abstractmethod
    def partitions(self, connector: str) -> list[dict[str, Any]]:
        """Return all partitions of a connector with an offset."""
