"""The state of a cluster's connectors for REST extensions; follows Kafka's package `health`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from hearth_api.worker.policy import ConnectorType


@dataclass(frozen=True)
class StateInfo:
    """The state of one connector or task.

    `state` is `RUNNING`, `PAUSED`, `STOPPED`, `FAILED`, `UNASSIGNED` or `RESTARTING`, `worker_id` the host and port of
    the worker that runs it; `trace` is the traceback of a failure.
    """

    state: str
    worker_id: str
    trace: str | None = None


@dataclass(frozen=True)
class ConnectorHealth:
    """The states of a connector and of its tasks by number, at the time of the call."""

    name: str
    connector_state: StateInfo
    tasks_state: Mapping[int, StateInfo]
    type: ConnectorType


class ClusterState(ABC):
    """Reports on the connectors of the cluster; follows Kafka's `ConnectClusterState`.

    Provided by the host; callable from any thread. Results are snapshots: a listed connector may already be gone.
    """

    @abstractmethod
    def connectors(self) -> list[str]:
        """Return the names of all currently configured connectors."""

    @abstractmethod
    def connector_health(self, name: str) -> ConnectorHealth:
        """Return the states of a connector and its tasks; raise `NotFoundError` if there is none."""

    @abstractmethod
    def connector_config(self, name: str) -> dict[str, str]:
        """Return a connector's stored configuration, variables unresolved; raise `NotFoundError` if there is none."""

    @abstractmethod
    def kafka_cluster_id(self) -> str:
        """Return the id of the Kafka cluster the worker uses."""
