"""Waits until connectors are in a state, and stay in it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hearth.client.remote_cluster import FAILED, PAUSED, RUNNING, STOPPED, RemoteCluster, RemoteConnector
from hearth_api import ConfigError, ConnectError

GOALS = {"running": RUNNING, "paused": PAUSED, "stopped": STOPPED, "deleted": "DELETED"}
POLL_SECONDS = 0.3
STALE_SECONDS = 5.0
"""How long a failure that was there before a change may be that of the run before."""


class WaitTimeout(ConnectError):
    """Connectors are not in the expected state in time."""

    code = "timeout.wait"


class ConnectorFailed(ConnectError):
    """A connector fails instead of reaching the expected state; ``trace`` has the reason."""

    code = "client.connector_failed"

    def __init__(self, *args: object, trace: str | None = None) -> None:
        super().__init__(*args, hint="correct its configuration, or `hearth connectors restart NAME`")
        self.trace = trace


class Waiting:
    """Waits for connectors of a cluster.

    Kafka Connect's status does not say which configuration it is about: right after a change it still shows the run
    before. Hearth's report does, so there a state counts as soon as that configuration runs. On a worker of Java a
    failure that ``before`` already had counts only after some seconds. Everywhere a state has to last ``settle``
    seconds.
    """

    def __init__(
        self, cluster: RemoteCluster, timeout: float, settle: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``timeout`` and ``settle`` are in seconds."""
        self._cluster = cluster
        self._timeout = timeout
        self._settle = settle
        self._clock = clock
        self._current: dict[str, bool | None] = {}
        """Whether a connector runs its configuration; None on a worker of Java, which does not say."""

    def wait(self, goals: Mapping[str, str], before: Mapping[str, RemoteConnector] | None = None) -> None:
        """Wait for the goal of each connector, by its name: RUNNING, PAUSED, STOPPED or DELETED.

        Raises ConnectorFailed at once when one of them fails that has to run, and WaitTimeout.
        """
        begun = self._clock()
        reached_at: dict[str, float] = {}
        left = dict(goals)
        while left:
            found = self._cluster.connectors()
            now = self._clock()
            for name, goal in list(left.items()):
                each = found.get(name)
                if self._is_old(each, goal, now - begun):
                    reached_at.pop(name, None)
                    continue
                self._refuse_failure(each, goal, (before or {}).get(name), now - begun)
                if not is_reached(each, goal):
                    reached_at.pop(name, None)
                elif now - reached_at.setdefault(name, now) >= (0 if goal == "DELETED" else self._settle):
                    del left[name]
            if left and now - begun > self._timeout:
                raise WaitTimeout(
                    f"after {self._timeout:g} s {_states(left, found)}",
                    hint="see `hearth status NAME`, or wait longer",
                )
            if left:
                time.sleep(POLL_SECONDS)

    def wait_for_lag(self, names: Sequence[str], most: int) -> None:
        """Wait until sinks are at most so many records behind the ends that their partitions have from now on.

        Raises ConnectorFailed at once when one of them fails, WaitTimeout, and ConfigError on a worker of Java.
        """
        begun = self._clock()
        left = list(names)
        while left:
            found = self._cluster.connectors()
            reports = {name: self._cluster.report(name) for name in left}
            for name, report in reports.items():
                self._refuse_failure(found.get(name), RUNNING, None, math.inf)
                if report is None:
                    raise ConfigError(
                        "--for lag needs Hearth", code="client.java", hint="ask Kafka for the group's lag"
                    )
                lag = report["lag"]
                is_new = lag["age"] is not None and lag["age"] <= self._clock() - begun
                if is_new and lag["records"] is not None and lag["records"] <= most:
                    left.remove(name)
            if left and self._clock() - begun > self._timeout:
                behind = "; ".join(f"{name} is {_behind(reports[name])}" for name in left)
                raise WaitTimeout(f"after {self._timeout:g} s {behind}", hint="see `hearth explain NAME`")
            if left:
                time.sleep(POLL_SECONDS)

    def _is_old(self, found: RemoteConnector | None, goal: str, seconds: float) -> bool:
        """Return whether a status, fetched ``seconds`` after the begin, may be of an earlier configuration.

        It is if the report did not say before that the present one runs. A connector that fails to start may never
        run it, so a failure counts after some seconds.
        """
        if found is None or goal != RUNNING or not (is_reached(found, goal) or found.worst == FAILED):
            return False
        if self._current.get(found.name, False) is not False:
            return False
        report = self._cluster.report(found.name)
        self._current[found.name] = None if report is None else bool(report["running"])
        return report is not None and not (found.worst == FAILED and seconds > STALE_SECONDS)

    def _refuse_failure(
        self, found: RemoteConnector | None, goal: str, before: RemoteConnector | None, seconds: float
    ) -> None:
        if found is None or goal != RUNNING or found.worst != FAILED:
            return
        is_stale = self._current.get(found.name) is None and seconds < STALE_SECONDS
        if is_stale and before is not None and before.first_trace == found.first_trace:
            return
        reason = (found.first_trace or "").strip().splitlines()
        raise ConnectorFailed(f"{found.name} is FAILED{': ' + reason[0] if reason else ''}", trace=found.first_trace)


def _behind(report: Mapping[str, Any] | None) -> str:
    records = None if report is None else report["lag"]["records"]
    return "at no known offset" if records is None else f"{records} records behind"


def is_reached(found: RemoteConnector | None, goal: str) -> bool:
    """Return whether a connector is in a state, with all its tasks.

    One that runs has at least one task; one that was created as paused has none.
    """
    if goal == "DELETED" or found is None:
        return goal == "DELETED" and found is None
    states = [each.state for each in found.tasks]
    if found.state != goal or not all(state == goal for state in states):
        return False
    return bool(states) if goal == RUNNING else goal == PAUSED or not states


def _states(left: Sequence[str] | Mapping[str, str], found: Mapping[str, RemoteConnector]) -> str:
    """Return the states of what is waited for, in words."""
    words = []
    for name in left:
        each = found.get(name)
        if each is None:
            words.append(f"{name} does not exist")
        else:
            tasks = ", ".join(f"{task.id}: {task.state}" for task in each.tasks) or "none"
            words.append(f"{name} is {each.state}, tasks {tasks}")
    return "; ".join(words)
