"""Collects the values of all metrics of this host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hearth.config.connector_key import CONNECTOR_CLASS
from hearth.foundation.process_usage import STARTED
from hearth.herder.leader_services import LeaderServices
from hearth.herder.reconciler import Reconciler
from hearth.herder.sink_lag import Access, EndOffsets, PartitionLag, Place, SinkLag
from hearth.herder.supervisor import Supervisor
from hearth.metric import worker_sensor
from hearth.metric.lag_sensor import of_partition
from hearth.metric.sensor import Measurement
from hearth.metric.worker_sensor import ConnectorFacts
from hearth.storage import ConfiguredConnector, State


def connected(access: Access) -> EndOffsets:
    """Return an admin client, which loads librdkafka."""
    from hearth.kafka.admin import TopicAdmin

    return TopicAdmin(dict(access))


def committed_by(supervisor: Supervisor) -> dict[Place, int]:
    """Return the committed offset of each partition of a sink, as its tasks reported it last.

    A partition that moved was reported by two: the later owner has the greater offset.
    """
    found: dict[Place, int] = {}
    for task in supervisor.tasks:
        for place, offset in task.measured.metrics.committed().items():
            found[place] = max(offset, found.get(place, 0))
    return found


class MetricCollector:
    """Reads what this host runs: everything where it leads, nothing of connectors and tasks where it follows.

    It asks no task and no broker, so it does not wait; tasks report every few seconds.
    """

    def __init__(self, services: LeaderServices, reconciler: Reconciler, lag: SinkLag | None = None) -> None:
        self._services, self._reconciler = services, reconciler
        self._lag = lag or SinkLag(connected)

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
        found += self._lags(supervisors)
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

    def lag(self, supervisor: Supervisor) -> list[PartitionLag]:
        """Return the lag of a connector's partitions, empty for a source; asks for their ends if it was not lately."""
        return self._lag_of([supervisor])[0][1]

    def _lag_of(self, supervisors: Sequence[Supervisor]) -> list[tuple[str, list[PartitionLag]]]:
        committed = [(each, committed_by(each)) for each in supervisors]
        wanted: dict[Access, set[Place]] = {}
        for supervisor, offsets in committed:
            if offsets and supervisor.access is not None:
                wanted.setdefault(supervisor.access, set()).update(offsets)
        self._lag.look(wanted)
        return [
            (each.name, [] if each.access is None else self._lag.of(each.access, offsets))
            for each, offsets in committed
        ]

    def _lags(self, supervisors: Sequence[Supervisor]) -> Iterator[Measurement]:
        for name, found in self._lag_of(supervisors):
            for each in found:
                yield from of_partition(name, each.topic, each.partition, each.records, each.seconds)

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
