"""Sensors of the worker, its connectors, its cluster and its process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hearth.foundation.process_usage import process_usage
from hearth.metric.sensor import NO_TAGS, OWN, PROCESS, Measurement, Sensor, SensorKind, Tags, measured
from hearth.metric.worker_metric import LeaderChanges, StartCounts, WorkerMetrics

WORKER, REBALANCE, COORDINATOR = (
    "connect-worker-metrics",
    "connect-worker-rebalance-metrics",
    "connect-coordinator-metrics",
)
CONNECTOR, APP = "connector-metrics", "app-info"
_TOTAL, _TEXT = SensorKind.TOTAL, SensorKind.TEXT
STATES = ("total", "running", "paused", "failed", "unassigned", "destroyed", "restarting")

_COUNTS = (
    Sensor(WORKER, "connector-count", "Connectors that run in this worker."),
    Sensor(WORKER, "task-count", "Tasks that run in this worker, or on its executors."),
)
_STARTS = {
    what: (
        Sensor(WORKER, f"{what}-startup-attempts-total", f"Starts of {what}s.", _TOTAL),
        Sensor(WORKER, f"{what}-startup-success-total", f"Starts of {what}s that succeeded.", _TOTAL),
        Sensor(WORKER, f"{what}-startup-success-percentage", f"Share of {what} starts that succeeded, 0 to 1."),
        Sensor(WORKER, f"{what}-startup-failure-total", f"Starts of {what}s that failed.", _TOTAL),
        Sensor(WORKER, f"{what}-startup-failure-percentage", f"Share of {what} starts that failed, 0 to 1."),
    )
    for what in ("connector", "task")
}
_TASK_COUNTS = [
    Sensor(WORKER, f"connector-{state}-task-count", f"Tasks of the connector{_of}.")
    for state, _of in ((each, "" if each == "total" else f" in state {each.upper()}") for each in STATES)
]
_CONNECTOR = (
    Sensor(CONNECTOR, "status", "State of the connector in lower case.", _TEXT),
    Sensor(CONNECTOR, "connector-type", "Whether the connector is a source or a sink.", _TEXT),
    Sensor(CONNECTOR, "connector-class", "Class of the connector.", _TEXT),
    Sensor(CONNECTOR, "connector-version", "Version of the connector.", _TEXT),
)
_REBALANCE = (
    Sensor(REBALANCE, "connect-protocol", "How the hosts of the cluster elect their leader.", _TEXT),
    Sensor(REBALANCE, "leader-name", "URL of the leader.", _TEXT),
    Sensor(REBALANCE, "epoch", "The term of the leader, 0 on a host that has not led."),
    Sensor(REBALANCE, "completed-rebalances-total", "Changes of the leader that this host took part in.", _TOTAL),
    Sensor(REBALANCE, "rebalancing", "Whether the leader changes now: 1 or 0."),
    Sensor(REBALANCE, "rebalance-avg-time-ms", "Average time in ms of a change of the leader."),
    Sensor(REBALANCE, "rebalance-max-time-ms", "Longest time in ms of a change of the leader."),
    Sensor(REBALANCE, "time-since-last-rebalance-ms", "Time in ms since the last change of the leader."),
)
_ASSIGNED = (
    Sensor(COORDINATOR, "assigned-connectors", "Connectors assigned to this host: all to the leader."),
    Sensor(COORDINATOR, "assigned-tasks", "Tasks assigned to this host: all to the leader."),
)
_APP = (
    Sensor(APP, "version", "Version of Kafka Connect whose interface this is.", _TEXT),
    Sensor(APP, "commit-id", "Commit of that version.", _TEXT),
    Sensor(APP, "start-time-ms", "When the worker was started, in ms since 1970."),
)
_PROCESS = (
    Sensor("process", "cpu-seconds-total", "Processor time of the worker's process in seconds.", _TOTAL, PROCESS),
    Sensor("process", "resident-memory-bytes", "Memory of the worker's process.", domain=PROCESS),
    Sensor("process", "open-fds", "Open files of the worker's process.", domain=PROCESS),
    Sensor("process", "max-fds", "Most files that the worker's process may open.", domain=PROCESS),
    Sensor("process", "start-time-seconds", "When the worker was started, in s since 1970.", domain=PROCESS),
)
_LAG = (
    Sensor("", "sink-lag-records", "Records between the committed offset and the end.", domain=OWN),
    Sensor("", "sink-lag-seconds", "For how long the oldest uncommitted record is known, 0: none.", domain=OWN),
)
PROTOCOL = "hearth"


@dataclass(frozen=True)
class ConnectorFacts:
    """What is known of a connector: the state of it and of each of its tasks, its type, class and version."""

    name: str
    state: str
    type: str
    class_name: str
    version: str
    task_states: tuple[str, ...] = ()


def of_connector(connector: ConnectorFacts) -> Iterator[Measurement]:
    """Yield what a connector is, and how many tasks it has in which state; the latter only if it has any."""
    tags = Tags.of(connector=connector.name)
    texts = (connector.state.lower(), connector.type, connector.class_name, connector.version)
    yield from measured(_CONNECTOR, tags, texts)
    if connector.task_states:
        counts = Counter(each.lower() for each in connector.task_states)
        counts["total"] = len(connector.task_states)
        yield from measured(_TASK_COUNTS, tags, (counts[state] for state in STATES))


def of_worker(metrics: WorkerMetrics, connectors: int, tasks: int) -> Iterator[Measurement]:
    """Yield how much the worker runs, and how starts went."""
    yield from measured(_COUNTS, NO_TAGS, (connectors, tasks))
    for what, starts in (("connector", metrics.connector_starts), ("task", metrics.task_starts)):
        yield from measured(_STARTS[what], NO_TAGS, _starts(starts))


def _starts(starts: StartCounts) -> Iterator[float]:
    yield starts.attempts
    yield starts.succeeded
    yield starts.share(is_success=True)
    yield starts.failed
    yield starts.share(is_success=False)


def of_leader(changes: LeaderChanges, leader: str) -> Iterator[Measurement]:
    """Yield how the leader of the cluster has changed."""
    times = 1000 * changes.average(), 1000 * changes.longest(), 1000 * changes.seconds_since
    values = (PROTOCOL, leader, changes.term, changes.completed, changes.is_under_way, *times)
    yield from measured(_REBALANCE, NO_TAGS, values)


def of_assignment(client: str, connectors: int, tasks: int) -> Iterator[Measurement]:
    """Yield what the cluster has assigned to this host."""
    yield from measured(_ASSIGNED, Tags.of(client_id=client), (connectors, tasks))


def of_app(client: str, version: Mapping[str, str], started: float) -> Iterator[Measurement]:
    """Yield the version, and since when the worker runs (seconds since the epoch)."""
    yield from measured(_APP, Tags.of(client_id=client), (version["version"], version["commit"], int(started * 1000)))


def of_partition(connector: str, topic: str, partition: int, records: float, seconds: float) -> Iterable[Measurement]:
    """Return how far a sink is behind in a partition, which Kafka Connect leaves to its consumers."""
    return measured(_LAG, Tags.of(connector=connector, topic=topic, partition=partition), (records, seconds))


def of_process() -> Iterable[Measurement]:
    """Return what this process uses, under the names of Prometheus' own client libraries."""
    used = process_usage()
    values = (used.cpu_seconds, used.resident_bytes, used.open_files, used.most_files, used.started)
    return measured(_PROCESS, NO_TAGS, values)
