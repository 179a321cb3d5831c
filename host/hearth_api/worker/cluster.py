"""What REST extensions may learn about the connectors of a cluster, follows Kafka's package `health`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from hearth_api.worker.policy import ConnectorType


@dataclass(frozen=True)
class StateInfo:
    """The state of one connector or task.

    `state` is `RUNNING`, `PAUSED`, `STOPPED`, `FAILED`, `UNASSIGNED` or `RESTARTING`, `worker_id` the
    host and port of the worker in charge; `trace` tells why it failed.
    """

    state: str
    worker_id: str
    trace: str | None = None


@dataclass(frozen=True)
class ConnectorHealth:
    """The states of a connector and of its tasks by number, as they were when asked for."""

    name: str
    connector_state: StateInfo
    tasks_state: Mapping[int, StateInfo]
    type: ConnectorType


class ClusterState(ABC):
    """Answers about the connectors of the cluster, follows Kafka's `ConnectClusterState`.

    Provided by the host; callable from any thread. Answers are snapshots: a connector listed a moment
    ago may be gone.
    """

    @abstractmethod
    def connectors(self) -> list[str]:
        """Return the names of all connectors that are configured now."""

    @abstractmethod
    def connector_health(self, name: str) -> ConnectorHealth:
        """Return the states of a connector and its tasks; `NotFoundError` if there is none."""

    @abstractmethod
    def connector_config(self, name: str) -> dict[str, str]:
        """Return a connector's stored configuration, variables unresolved; `NotFoundError` if none."""

    @abstractmethod
    def kafka_cluster_id(self) -> str:
        """Return the id of the Kafka cluster the worker uses."""
