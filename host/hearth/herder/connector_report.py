"""Reports what this host knows of a connector beyond Kafka Connect's status: `GET /hearth/connectors/NAME`."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any

from hearth.herder.explanation import explained
from hearth.herder.leader_services import LeaderServices
from hearth.herder.metric_collector import MetricCollector
from hearth.herder.reconciler import Reconciler
from hearth.herder.sink_lag import PartitionLag
from hearth.herder.supervisor import Supervisor
from hearth.herder.task import SupervisedTask
from hearth.metric.sensor import OWN, Measurement, Sensor, Tags
from hearth.storage import ConfiguredConnector, NotLeading, State
from hearth_api import ConnectError, NotFoundError

log = logging.getLogger(__name__)

COUNTS = (
    "polled", "read", "sent", "acknowledged", "put", "accepted", "failed", "skipped", "dead_lettered", "retried",
    "commits", "commits_failed", "partitions", "active",
)  # fmt: skip
"""The counts that a report shows of each task's present run (`TaskCounts`)."""
RATES = ("polled", "read", "acknowledged", "accepted", "commits")


MOST_EXPLAINED = 100
"""How many connectors a scrape of metrics explains anew, those first that were explained longest ago."""
_CONDITION = Sensor("", "connector-condition", "What a connector does or waits for: 1 for its condition.", domain=OWN)


class ConnectorReporter:
    """Makes reports of the connectors that this host runs; asks no task and no broker, so it does not wait."""

    def __init__(
        self,
        services: LeaderServices,
        reconciler: Reconciler,
        collector: MetricCollector,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._services, self._reconciler, self._collector = services, reconciler, collector
        self._clock = clock
        self._conditions: dict[str, str] = {}
        """The last known condition of each connector, from the oldest to the newest."""

    def explain(self, name: str) -> dict[str, Any]:
        """Return an Explanation; raises what ``report`` raises."""
        return self._explain(name, self.report(name) | {"offsets": self._offsets_of(name)})

    def _explain(self, name: str, report: Mapping[str, Any]) -> dict[str, Any]:
        entry = self._services.configs.snapshot().find(name)
        return explained(report, {} if entry is None else entry.config, self._clock())

    def _offsets_of(self, name: str) -> int | None:
        """Return for how many source partitions a connector has offsets, None if their topic cannot be read."""
        try:
            return len(self._services.offsets.partitions(name))
        except ConnectError as error:
            log.debug("the offsets of %s are not known now: %s", name, error)
            return None

    def conditions(self) -> list[Measurement]:
        """Return the conditions of all connectors that this host runs; called by one thread at a time."""
        names = {each.name for each in self._reconciler.supervisors()}
        known = {name: condition for name, condition in self._conditions.items() if name in names}
        for name in [*sorted(names - known.keys()), *known][:MOST_EXPLAINED]:
            known.pop(name, None)
            with suppress(NotFoundError, NotLeading):
                known[name] = self._explain(name, self.report(name) | {"offsets": None})["condition"]
        self._conditions = known
        return [(_CONDITION, Tags.of(connector=name, condition=each), 1) for name, each in sorted(known.items())]

    def report(self, name: str) -> dict[str, Any]:
        """Return a HearthConnector; raises NotFoundError, or NotLeading where another host knows more."""
        entry = self._services.configs.snapshot().find(name)
        if entry is None:
            raise NotFoundError(f"Connector {name} not found", code="connector.unknown")
        if not self._reconciler.leads:
            raise NotLeading("this host does not lead")
        status = self._services.board.store.connector(name)
        supervisor = self._reconciler.supervisor(name)
        lag, age = ([], None) if supervisor is None else self._collector.lag(supervisor)
        return {
            "name": name,
            "type": self._services.directory.connector_type(entry.config),
            "state": str(State.UNASSIGNED if status is None else status.state),
            "trace": None if status is None else status.trace,
            "target": str(entry.target.value),
            "revision": entry.revision,
            "running": supervisor is not None and supervisor.runs(entry),
            "call": _call(supervisor),
            "tasks": [] if supervisor is None else self._tasks(supervisor, entry),
            "lag": {**_lag(lag), "age": None if age is None else round(age, 3)},
        }

    def summaries(self) -> dict[str, Any]:
        """Return a ConnectorSummary of each connector that this host runs; raises NotLeading on another host."""
        if not self._reconciler.leads:
            raise NotLeading("this host does not lead")
        supervisors = self._reconciler.supervisors()
        lags = dict(self._collector.lags(supervisors))
        return {each.name: _summary(each.tasks, lags[each.name]) for each in supervisors}

    def _tasks(self, supervisor: Supervisor, entry: ConfiguredConnector) -> list[dict[str, Any]]:
        statuses = {each.task: each for each in self._services.board.store.tasks(supervisor.name)}
        known = {task.number: task for task in supervisor.tasks}
        found = []
        for number in range(len(entry.tasks)):
            status, task = statuses.get(number), known.get(number)
            found.append(
                {
                    "id": number,
                    "state": str(State.UNASSIGNED if status is None else status.state),
                    "trace": None if status is None else status.trace,
                    **(_task(task) if task is not None else {}),
                }
            )
        return found


def _call(supervisor: Supervisor | None) -> dict[str, Any] | None:
    run = None if supervisor is None else supervisor.run
    call = None if run is None else run.call
    return None if call is None else {"name": call[0], "since": moment(call[1])}


def _task(task: SupervisedTask) -> dict[str, Any]:
    metrics, history = task.measured.metrics, task.history
    return {
        "since": moment(history.since),
        "restarts": history.restarts,
        "ends": [
            {"at": moment(each.at), "how": each.how, "words": each.words, "seconds": round(each.seconds, 1)}
            for each in history.ends
        ],
        "last": {phase: moment(at) for phase, at in metrics.times()},
        "assigned": metrics.assigned(),
        "counts": {name: metrics.count(name) for name in COUNTS},
        "rates": {name: round(metrics.rate(name), 3) for name in RATES},
        "put_seconds": {"average": _number(metrics.average("put")), "longest": _number(metrics.most("put"))},
        "failures": [
            {"phase": phase, "error": error, "records": count} for (phase, error), count in metrics.failures().items()
        ],
    }


def _summary(tasks: Sequence[SupervisedTask], lag: Sequence[PartitionLag]) -> dict[str, Any]:
    metrics = [each.measured.metrics for each in tasks]
    known = [each.records for each in lag if each.end is not None]
    return {
        "rate": round(sum(each.rate("acknowledged") + each.rate("accepted") for each in metrics), 3),
        "lag": int(sum(known)) if known else None,
        "errors": int(sum(each.count("failed") for each in metrics)),
        "restarts": sum(each.history.restarts for each in tasks),
        "since": moment(max((each.history.since for each in tasks), default=math.nan)),
    }


def _lag(partitions: Sequence[PartitionLag]) -> Mapping[str, Any]:
    known = [each for each in partitions if each.end is not None]
    return {
        "records": sum(int(each.records) for each in known) if known else None,
        "seconds": max((round(each.seconds, 1) for each in known), default=None),
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "committed": each.committed,
                "end": each.end,
                "records": None if each.end is None else int(each.records),
                "seconds": _number(each.seconds),
            }
            for each in partitions
        ],
    }


def moment(seconds: float) -> str | None:
    """Return a time since the epoch as ISO 8601 in UTC, None for NaN."""
    if math.isnan(seconds):
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
