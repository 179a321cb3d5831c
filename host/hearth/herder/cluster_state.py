"""The connectors of the cluster, as REST extensions see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.herder.herder import Herder
from hearth_api.worker import ClusterState, ConnectorHealth, ConnectorType, StateInfo


class HerderClusterState(ClusterState):
    """Answers from the herder's current knowledge, without blocking."""

    def __init__(self, herder: Herder, kafka_cluster_id: str) -> None:
        self._herder = herder
        self._kafka_cluster_id = kafka_cluster_id

    def connectors(self) -> list[str]:
        """Return the names of all connectors."""
        return self._herder.connectors()

    def connector_health(self, name: str) -> ConnectorHealth:
        """Return the states of a connector and its tasks; raise NotFoundError if it does not exist."""
        found = self._herder.view.connector(name)
        tasks = {task["id"]: _state(task) for task in found["tasks"]}
        return ConnectorHealth(name, _state(found["connector"]), tasks, ConnectorType(found["type"]))

    def connector_config(self, name: str) -> dict[str, str]:
        """Return the stored configuration of a connector; raise NotFoundError if it does not exist."""
        return dict(self._herder.view.info(name)["config"])

    def kafka_cluster_id(self) -> str:
        """Return the id of the Kafka cluster the worker uses."""
        return self._kafka_cluster_id


def _state(shown: Mapping[str, Any]) -> StateInfo:
    return StateInfo(shown["state"], shown["worker_id"], shown.get("trace"))
