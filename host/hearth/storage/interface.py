"""The promises of the three stores, and the values they hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from hearth_api import ConflictError


class NotLeading(ConflictError):
    """Another host decides what runs, so this one does not change it."""

    code = "host.not_leading"
    hint = "ask the host that leads, or this one again when it does"


class State(str, Enum):
    """The state of a connector or a task as statuses report it; the texts are Kafka Connect's."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    STOPPED = "STOPPED"
    DESTROYED = "DESTROYED"

    def __str__(self) -> str:
        """Return the bare text."""
        return self.value


class TargetState(str, Enum):
    """What a user wants of a connector: that it runs, rests with its tasks, or rests without them."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"

    def __str__(self) -> str:
        """Return the bare text."""
        return self.value


@dataclass(frozen=True)
class ConnectorStatus:
    """The last reported state of a connector; `version` is None when the plugin states none."""

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
    """What all stores have in common; one that holds nothing beyond the process has nothing to do here."""

    def start(self) -> None:
        """Read what is stored, before anything else is called."""

    def close(self) -> None:
        """Release what the store holds; nothing is unwritten at this point."""


class StatusStore(Store, ABC):
    """Keeps the last status of every connector and task, and the topics each connector has touched.

    Safe to call from any thread. A status with the state DESTROYED removes what it names.
    """

    @abstractmethod
    def put_connector(self, status: ConnectorStatus) -> None:
        """Replace the status of a connector."""

    @abstractmethod
    def put_task(self, status: TaskStatus) -> None:
        """Replace the status of a task."""

    @abstractmethod
    def connector(self, connector: str) -> ConnectorStatus | None:
        """Return the status of a connector, None when it has none."""

    @abstractmethod
    def task(self, connector: str, task: int) -> TaskStatus | None:
        """Return the status of a task, None when it has none."""

    @abstractmethod
    def tasks(self, connector: str) -> list[TaskStatus]:
        """Return the statuses of a connector's tasks in the order of their numbers."""

    @abstractmethod
    def add_topic(self, connector: str, topic: str) -> None:
        """Remember that a connector wrote to or read from a topic; saying it again changes nothing."""

    @abstractmethod
    def topics(self, connector: str) -> list[str]:
        """Return the remembered topics of a connector in the order they were first seen."""

    @abstractmethod
    def reset_topics(self, connector: str) -> None:
        """Forget the topics of a connector."""


@dataclass(frozen=True)
class RestartRequest:
    """A user's request to restart a connector, its tasks, or only what failed of them."""

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
    """What the config store holds of one connector: raw texts, variables not yet resolved."""

    config: Mapping[str, str]
    target: TargetState = TargetState.STARTED
    tasks: tuple[Mapping[str, str], ...] = ()
    applied: Mapping[str, str] | None = None
    """The connector configuration the present tasks were made from; None when there are none, or have to be made."""
    revision: int = 0
    """Which write of the store the configuration is, also one of the same texts: later writes have greater numbers."""
    tasks_revision: int = 0
    """Which write of the store the tasks are; 0 when there never were any."""


@dataclass(frozen=True)
class SessionKey:
    """The key by which the hosts of a cluster sign what they ask of each other, and when it was made."""

    key: bytes = field(repr=False)
    algorithm: str
    created_ms: int


@dataclass(frozen=True)
class ConfigState:
    """One consistent view of the config store; what only hosts of a cluster share has no content elsewhere."""

    entries: Mapping[str, ConfiguredConnector] = field(default_factory=dict)
    offset: int = -1
    """How far the topic was read that holds all this: a view with a greater number is a later one."""
    session_key: SessionKey | None = None
    task_counts: Mapping[str, int] = field(default_factory=dict)
    """For how many tasks of a connector the producers of earlier generations were fenced the last time (KIP-618)."""
    pending_fencing: frozenset[str] = frozenset()
    """Connectors whose tasks were made anew since then."""

    def connectors(self) -> list[str]:
        """Return the names of all connectors in the order they were created."""
        return list(self.entries)

    def find(self, connector: str) -> ConfiguredConnector | None:
        """Return what is configured under a name, None when nothing is."""
        return self.entries.get(connector)


class ConfigListener:
    """Hears of changes of the config store, its own writer's as well as other hosts'.

    Called on the thread that writes (memory) or reads (shared stores): an implementation only notes the
    change and returns. When it is called, `snapshot` already shows the change.
    """

    def on_change(self, connector: str) -> None:
        """What the store says of a connector is new: its configuration, its tasks, its target, or that it is gone."""

    def on_restart(self, request: RestartRequest) -> None:
        """A user asks for a restart, perhaps at another host; it is told once and is no part of the content."""

    def on_session_key(self, key: SessionKey) -> None:
        """Hosts sign by another key from now on."""

    def on_logger_level(self, namespace: str, level: str) -> None:
        """A user asks for a log level on every host; it is told once and is no part of the content."""


class ConfigStore(Store, ABC):
    """Keeps connector configurations, task configurations and target states.

    Safe to call from any thread. Every write is visible in `snapshot`, and the listener has heard of it, once the call
    returns.
    """

    @abstractmethod
    def snapshot(self) -> ConfigState:
        """Return the present content; later writes do not change it."""

    @abstractmethod
    def put_connector(self, connector: str, config: Mapping[str, str], target: TargetState | None = None) -> None:
        """Create or replace a configuration; the default target is STARTED, or what it was.

        The target is stored before the configuration, so that no task of a connector created STOPPED ever
        starts.
        """

    @abstractmethod
    def remove_connector(self, connector: str) -> None:
        """Forget a connector and its tasks; source offsets are none of this store's business and stay."""

    @abstractmethod
    def put_tasks(self, connector: str, configs: Sequence[Mapping[str, str]]) -> None:
        """Replace all task configurations and note the connector configuration they were made from.

        Raises NotFoundError when there is no connector of this name, as do the other methods on tasks and
        targets.
        """

    @abstractmethod
    def remove_tasks(self, connector: str) -> None:
        """Forget the task configurations."""

    @abstractmethod
    def put_task_count(self, connector: str, count: int) -> None:
        """Note that producers with transactions may begin for the present tasks, and for how many (KIP-618).

        It outlasts the connector: what one of the same name has left is fenced as well.
        """

    @abstractmethod
    def put_target(self, connector: str, target: TargetState) -> None:
        """Say what is wanted of a connector; the listener hears of it when that is something new."""

    @abstractmethod
    def put_restart(self, request: RestartRequest) -> None:
        """Pass a restart on to the listener of every host that shares this store."""

    @abstractmethod
    def subscribe(self, listener: ConfigListener) -> None:
        """Tell `listener` of changes from now on; there is one listener."""

    @abstractmethod
    def refresh(self, timeout: float) -> None:
        """Catch up with what other hosts wrote; TimeoutError when that takes more than `timeout` seconds."""


class OffsetStore(Store, ABC):
    """Keeps the committed source offsets of every connector by source partition.

    Safe to call from any thread. Partitions and offsets are maps of JSON values; two partitions are the same
    when the maps are equal, in whatever order their keys stand. Invariant 5: a write takes place as a whole
    or not at all.
    """

    @abstractmethod
    def get(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the offset of each partition, None where none was committed."""

    @abstractmethod
    def put(self, connector: str, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
        """Store offsets; they are durable when this returns. None forgets a partition.

        Raises RetriableError, and keeps what was stored before, when the offsets could not be made durable.
        """

    @abstractmethod
    def partitions(self, connector: str) -> list[dict[str, Any]]:
        """Return every partition of a connector that has an offset."""
