"""Writes the statuses of connectors and tasks to the store, and reads them as Kafka Connect's JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hearth.herder.password_mask import PasswordMask
from hearth.herder.plugin.directory import PluginDirectory
from hearth.storage import (
    ConfigStore,
    ConnectorStatus,
    RestartRequest,
    State,
    StatusStore,
    TaskStatus,
)
from hearth_api import UNDEFINED_VERSION, NotFoundError


class StatusBoard:
    """Writes statuses on behalf of this worker, and tells ``on_change`` whose status it has written."""

    def __init__(
        self, store: StatusStore, worker_id: str, on_change: Callable[[str], None] = lambda connector: None
    ) -> None:
        self.store = store
        self._on_change = on_change
        self.worker_id = worker_id
        self.generation = 0
        """The term in which this host leads; late statuses of earlier terms do not override its own."""

    def connector(self, connector: str, state: State, trace: str | None = None, version: str | None = None) -> None:
        """Write the state of a connector; without a version, the earlier one is kept."""
        known = self.store.connector(connector)
        version = version if version is not None or known is None else known.version
        self.store.put_connector(ConnectorStatus(connector, state, self.worker_id, self.generation, trace, version))
        self._on_change(connector)

    def task(
        self, connector: str, task: int, state: State, trace: str | None = None, version: str | None = None
    ) -> None:
        """Write the state of a task."""
        self.store.put_task(TaskStatus(connector, task, state, self.worker_id, self.generation, trace, version))
        self._on_change(connector)

    def add_topics(self, connector: str, topics: Iterable[str]) -> None:
        """Record topics that a connector writes to or reads from; they are removed with the connector."""
        for topic in topics:
            self.store.add_topic(connector, topic)
        self._on_change(connector)

    def forget_tasks(self, connector: str, first: int = 0) -> None:
        """Remove the statuses of a connector's tasks, starting with the given number."""
        for status in self.store.tasks(connector):
            if status.task >= first:
                self.task(connector, status.task, State.DESTROYED)

    def forget(self, connector: str) -> None:
        """Remove the statuses of a connector and its tasks, if there are any."""
        self.forget_tasks(connector)
        if self.store.connector(connector) is not None:
            self.connector(connector, State.DESTROYED)


class StatusView:
    """Reads configurations and statuses in the form of the REST API."""

    def __init__(
        self, configs: ConfigStore, statuses: StatusStore, directory: PluginDirectory, mask: PasswordMask
    ) -> None:
        self._configs = configs
        self._statuses = statuses
        self._directory = directory
        self._mask = mask

    def info(self, connector: str) -> dict[str, Any]:
        """Return a ConnectorInfo."""
        entry = self._configs.snapshot().find(connector)
        if entry is None:
            raise NotFoundError(f"Connector {connector} not found", code="connector.unknown")
        return {
            "name": connector,
            "config": self._mask.shown(connector, entry.config),
            "tasks": [{"connector": connector, "task": task} for task in range(len(entry.tasks))],
            "type": self._directory.connector_type(entry.config),
        }

    def tasks(self, connector: str) -> list[dict[str, Any]]:
        """Return a list of TaskInfo."""
        entry = self._configs.snapshot().find(connector)
        if entry is None:
            raise NotFoundError(f"Connector {connector} not found", code="connector.unknown")
        return [
            {"id": {"connector": connector, "task": task}, "config": self._mask.shown(connector, config)}
            for task, config in enumerate(entry.tasks)
        ]

    def connector(self, connector: str, restart: RestartRequest | None = None) -> dict[str, Any]:
        """Return a ConnectorStateInfo; shows the targets of a restart request as RESTARTING."""
        status = self._statuses.connector(connector)
        if status is None:
            raise NotFoundError(f"No status found for connector {connector}", code="status.unknown")
        entry = self._configs.snapshot().find(connector)
        mine = _state(status, restart is not None and restart.wants_connector(status.state))
        tasks = [
            {"id": task.task, **_state(task, restart is not None and restart.wants_task(task.state))}
            for task in self._statuses.tasks(connector)
        ]
        kind = self._directory.connector_type(entry.config if entry else None)
        return {"name": connector, "connector": mine, "tasks": tasks, "type": kind}

    def task(self, connector: str, task: int) -> dict[str, Any]:
        """Return a TaskState."""
        status = self._statuses.task(connector, task)
        if status is None:
            raise NotFoundError(f"No status found for task {connector}-{task}", code="status.unknown")
        return {"id": task, **_state(status)}

    def topics(self, connector: str) -> dict[str, Any]:
        """Return an ActiveTopicsInfo, even if the connector does not exist."""
        return {connector: {"topics": self._statuses.topics(connector)}}


def _state(status: ConnectorStatus | TaskStatus, is_restarting: bool = False) -> dict[str, Any]:
    """Return the fields that connectors and tasks share, without an undefined version or an empty trace."""
    shown: dict[str, Any] = {
        "state": str(State.RESTARTING if is_restarting else status.state),
        "worker_id": status.worker_id,
    }
    if status.version != UNDEFINED_VERSION:
        shown["version"] = status.version
    if status.trace:
        shown["trace"] = status.trace
    return shown
