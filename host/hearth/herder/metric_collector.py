"""Collects the values of all metrics of this host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hearth.config.connector_key import CONNECTOR_CLASS
from hearth.foundation.process_usage import STARTED
from hearth.herder.leader_services import LeaderServices
from hearth.herder.reconciler import Reconciler
from hearth.herder.supervisor import Supervisor
from hearth.metric import worker_sensor
from hearth.metric.sensor import Measurement
from hearth.metric.worker_sensor import ConnectorFacts
from hearth.storage import ConfiguredConnector, State


class MetricCollector:
    """Reads what this host runs: everything where it leads, nothing of connectors and tasks where it follows.

    It asks no task and no broker, so it does not wait; tasks report every few seconds.
    """

    def __init__(self, services: LeaderServices, reconciler: Reconciler) -> None:
        self._services, self._reconciler = services, reconciler

    def collect(self, version: Mapping[str, str]) -> list[Measurement]:
        """Return all values; ``version`` has the version and commit of Kafka Connect's interface."""
        services, board = self._services, self._services.board
        entries = services.configs.snapshot()
        found: list[Measurement] = []
        supervisors = self._reconciler.supervisors()
        tasks = 0
        for supervisor in supervisors:
            entry = entries.find(supervisor.name)
            if entry is not None:
                states = {each.task: each.state for each in board.store.tasks(supervisor.name)}
                tasks += len(states)
                found += self._connector(supervisor, entry, states)
        client = f"connect-{board.worker_id}"
        found += worker_sensor.of_worker(services.metrics, len(supervisors), tasks)
        found += worker_sensor.of_app(client, version, STARTED)
        if (leader := services.metrics.leader) is not None:
            found += worker_sensor.of_leader(services.metrics.leader_changes, leader() or "unknown")
            found += worker_sensor.of_assignment(client, len(supervisors), tasks)
        for domain, used in services.metrics.clients.items():
            found += used.measure(domain, client)
        found += worker_sensor.of_process()
        return found

    def _connector(
        self, supervisor: Supervisor, entry: ConfiguredConnector, states: Mapping[int, State]
    ) -> Iterator[Measurement]:
        status, plugin = self._services.board.store.connector(supervisor.name), supervisor.plugin
        yield from worker_sensor.of_connector(
            ConnectorFacts(
                supervisor.name,
                str(State.UNASSIGNED if status is None else status.state),
                self._services.directory.connector_type(entry.config) if plugin is None else str(plugin.type),
                (entry.config.get(CONNECTOR_CLASS) or "unknown") if plugin is None else plugin.class_name,
                (None if plugin is None else plugin.version) or "unknown",
                tuple(map(str, states.values())),
            )
        )
        for task in supervisor.tasks:
            yield from task.measured.measure(str(states.get(task.number, State.UNASSIGNED)))
