"""Collects the values of all metrics of this host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hearth.config.connector_key import CONNECTOR_CLASS, NAME
from hearth.config.variable import Resolved
from hearth.foundation.process_usage import STARTED
from hearth.herder.leader_services import LeaderServices
from hearth.herder.reconciler import Reconciler
from hearth.herder.sink_lag import REFRESH_SECONDS, SOON_SECONDS, Access, EndOffsets, PartitionLag, Place, SinkLag
from hearth.herder.supervisor import Supervisor
from hearth.herder.task import SupervisedTask
from hearth.metric import worker_sensor
from hearth.metric.sensor import Measurement
from hearth.metric.worker_sensor import ConnectorFacts
from hearth.storage import ConfiguredConnector, State


def connected(access: Access) -> EndOffsets:
    """Return an admin client, which loads librdkafka."""
    from hearth.kafka.admin import TopicAdmin

    return TopicAdmin(dict(access))


def committed_by(tasks: Sequence[SupervisedTask]) -> dict[Place, int]:
    """Return the committed offset of each partition of a sink, as its tasks reported it last.

    A partition that moved was reported by two: the later owner has the greater offset.
    """
    found: dict[Place, int] = {}
    for task in tasks:
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
        self._accesses: dict[str, tuple[Resolved | None, Access]] = {}

    def collect(self, version: Mapping[str, str]) -> Iterator[Measurement]:
        """Yield all values; ``version`` has the version and commit of Kafka Connect's interface."""
        services, board = self._services, self._services.board
        services.metrics.watch()
        entries = services.configs.snapshot()
        supervisors = self._reconciler.supervisors()
        tasks = 0
        for supervisor in supervisors:
            entry = entries.find(supervisor.name)
            if entry is not None:
                states = {each.task: each.state for each in board.store.tasks(supervisor.name)}
                tasks += len(states)
                yield from self._connector(supervisor, entry, states)
        yield from self._lags(supervisors)
        client = f"connect-{board.worker_id}"
        yield from worker_sensor.of_worker(services.metrics, len(supervisors), tasks)
        yield from worker_sensor.of_app(client, version, STARTED)
        if (leader := services.metrics.leader) is not None:
            yield from worker_sensor.of_leader(services.metrics.leader_changes, leader() or "unknown")
            yield from worker_sensor.of_assignment(client, len(supervisors), tasks)
        for domain, used in services.metrics.clients.items():
            yield from used.measure(domain, client)
        yield from worker_sensor.of_process()

    def lag(self, supervisor: Supervisor) -> tuple[list[PartitionLag], float | None]:
        """Return the lag of a connector's partitions, and how many seconds ago all their ends were asked for.

        The list is empty for a source. Asks for the ends again, for a later call, if that was not done in a moment.
        """
        ((_, found),) = self.lags([supervisor], SOON_SECONDS)
        access = self._access(supervisor.name, supervisor.tasks)
        return found, self._lag.asked_ago(access, [(each.topic, each.partition) for each in found])

    def lags(
        self, supervisors: Sequence[Supervisor], refresh: float = REFRESH_SECONDS
    ) -> list[tuple[str, list[PartitionLag]]]:
        """Return the lag of the partitions of connectors; asks for ends that are older than ``refresh`` seconds."""
        known = [
            (each.name, self._access(each.name, tasks := each.tasks), committed_by(tasks)) for each in supervisors
        ]
        wanted: dict[Access, set[Place]] = {}
        for _, access, offsets in known:
            if offsets:
                wanted.setdefault(access, set()).update(offsets)
        self._lag.look(wanted, refresh)
        return [(name, self._lag.of(access, offsets)) for name, access, offsets in known]

    def _access(self, name: str, tasks: Sequence[SupervisedTask]) -> Access:
        """Return the settings of an admin client for the topics of a sink, made once for each configuration."""
        if not committed_by(tasks):
            return ()
        settings = tasks[0].settings
        made_of, access = self._accesses.get(name, (None, ()))
        if made_of is not settings:
            access = tuple(sorted(self._services.planner.sink_group({**settings.config, NAME: name})[0].items()))
            self._accesses[name] = settings, access
        return access

    def _lags(self, supervisors: Sequence[Supervisor]) -> Iterator[Measurement]:
        for name, found in self.lags(supervisors):
            for each in found:
                yield from worker_sensor.of_partition(name, each.topic, each.partition, each.records, each.seconds)

    def _connector(
        self, supervisor: Supervisor, entry: ConfiguredConnector, states: Mapping[int, State]
    ) -> Iterator[Measurement]:
        status, run = self._services.board.store.connector(supervisor.name), supervisor.run
        plugin = None if run is None else run.plugin
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
