"""A Connect cluster behind its REST API: Kafka Connect's resources as values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hearth.client.rest_client import RestClient
from hearth_api import ConfigError, NotFoundError

FAILED, RUNNING, PAUSED, STOPPED, UNASSIGNED = "FAILED", "RUNNING", "PAUSED", "STOPPED", "UNASSIGNED"
HIDDEN = "[hidden]"
"""What a worker shows instead of a password, and what the client does."""
_UNSAFE = re.compile(r"[%/\\\x00-\x1f\x7f]|^\.\.?$")
"""Characters that cannot be part of a path; Hearth takes such names in the query."""
_NEEDS_HEARTH = "this needs Hearth: a worker of Java's Kafka Connect has no such resource"


@dataclass(frozen=True)
class RemoteTask:
    """The status of a task."""

    id: int
    state: str
    worker_id: str
    trace: str | None = None


@dataclass(frozen=True)
class RemoteConnector:
    """A connector with its status; `config` is what the worker shows, which may hide passwords."""

    name: str
    type: str
    state: str
    worker_id: str
    config: Mapping[str, str]
    tasks: tuple[RemoteTask, ...] = ()
    trace: str | None = None
    version: str | None = None

    @property
    def worst(self) -> str:
        """Return FAILED if the connector or one of its tasks is, else the connector's state."""
        return FAILED if FAILED in (self.state, *(each.state for each in self.tasks)) else self.state

    @property
    def first_trace(self) -> str | None:
        """Return the trace of the connector or of its first failed task."""
        traces = [each.trace for each in self.tasks if each.state == FAILED]
        return next((each for each in (self.trace, *traces) if each), None)

    def to_json(self) -> dict[str, Any]:
        """Return the connector as the commands' JSON shows it, without its configuration."""
        tasks = [
            {"id": each.id, "state": each.state, "worker_id": each.worker_id, "trace": each.trace}
            for each in self.tasks
        ]
        return {
            "name": self.name,
            "type": self.type,
            "state": self.state,
            "worst": self.worst,
            "worker_id": self.worker_id,
            "version": self.version,
            "trace": self.trace,
            "tasks": tasks,
        }


class RemoteCluster:
    """The operations of a cluster; errors are those of `RestClient`."""

    def __init__(self, client: RestClient) -> None:
        self.client = client
        self._request = client.request

    def server(self) -> dict[str, Any]:
        """Return version, commit and kafka_cluster_id of the worker."""
        return dict(self._request("GET", "/"))

    def health(self) -> str:
        """Return the worker's own word on its health: healthy, starting or unhealthy (KIP-1017)."""
        return self.health_words()[0]

    def health_words(self) -> tuple[str, str]:
        """Return the worker's health, and its message, which says what it waits for."""
        found = self.client.request("GET", "/health", accepts=(500, 503))
        return str(found["status"]), str(found.get("message", ""))

    def names(self) -> list[str]:
        """Return the names of all connectors, sorted."""
        return sorted(self._request("GET", "/connectors"))

    def connectors(self) -> dict[str, RemoteConnector]:
        """Return all connectors by name, in one request; one that is being created may lack its status."""
        found = self._request("GET", "/connectors", query={"expand": ["status", "info"]})
        return {name: _connector(name, each) for name, each in sorted(found.items())}

    def config(self, name: str) -> dict[str, str]:
        """Return the stored configuration."""
        return dict(self._of(name, "GET", "/config"))

    def create(self, name: str, config: Mapping[str, str], state: str | None = None) -> None:
        """Create a connector, in an initial state other than RUNNING if given (KIP-980)."""
        initial = {} if state is None else {"initial_state": state}
        self._request("POST", "/connectors", {"name": name, "config": config, **initial})

    def replace(self, name: str, config: Mapping[str, str]) -> None:
        """Replace a configuration, whose tasks restart."""
        self._of(name, "PUT", "/config", config)

    def set_state(self, name: str, state: str) -> None:
        """Request RUNNING, PAUSED or STOPPED."""
        self._of(name, "PUT", {RUNNING: "/resume", PAUSED: "/pause", STOPPED: "/stop"}[state])

    def restart(self, name: str, tasks: str) -> dict[str, Any] | None:
        """Restart a connector and no, failed or all tasks; return the states of those that restart (KIP-745)."""
        flags = {"none": {}, "failed": {"onlyFailed": "true"}, "all": {}}[tasks]
        if tasks != "none":
            flags = {**flags, "includeTasks": "true"}
        answer = self._of(name, "POST", "/restart", query=flags)
        return None if answer is None else dict(answer)

    def delete(self, name: str) -> None:
        """Delete a connector; its offsets remain."""
        self._of(name, "DELETE", "")

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """Return the committed offsets: objects with `partition` and `offset` (KIP-875)."""
        return list(self._of(name, "GET", "/offsets")["offsets"])

    def set_offsets(self, name: str, offsets: Sequence[Mapping[str, Any]]) -> str:
        """Set offsets of a stopped connector; a null offset removes one. Returns the worker's message."""
        return str(self._of(name, "PATCH", "/offsets", {"offsets": list(offsets)})["message"])

    def reset_offsets(self, name: str) -> str:
        """Remove all offsets of a stopped connector. Returns the worker's message."""
        return str(self._of(name, "DELETE", "/offsets")["message"])

    def plugins(self, connectors_only: bool = False) -> list[dict[str, str]]:
        """Return the plugins of the worker: objects with class, type and, where known, version."""
        return list(self._request("GET", "/connector-plugins", query={"connectorsOnly": str(connectors_only).lower()}))

    def validate(self, class_name: str, config: Mapping[str, str]) -> dict[str, Any]:
        """Return the ConfigInfos of a configuration."""
        path = f"/connector-plugins/{quote(class_name, safe='')}/config/validate"
        return dict(self._request("PUT", path, dict(config)))

    def loggers(self) -> dict[str, dict[str, Any]]:
        """Return level and last change of every logger of the worker."""
        return dict(self._request("GET", "/admin/loggers"))

    def set_level(self, logger: str, level: str, scope: str) -> list[str]:
        """Set a level on the worker or the whole cluster; return the changed loggers of the worker."""
        path = f"/admin/loggers/{quote(logger, safe='')}"
        return list(self._request("PUT", path, {"level": level}, {"scope": scope}) or ())

    def owners(self) -> dict[str, str]:
        """Return who owns each owned connector; needs Hearth."""
        try:
            return dict(self._request("GET", "/hearth/owners"))
        except NotFoundError as error:
            raise ConfigError(f"--owner: {_NEEDS_HEARTH}", code="client.java", hint="apply without --owner") from error

    def set_owner(self, name: str, owner: str) -> None:
        """Record who owns a connector; needs Hearth."""
        self._request("PUT", "/hearth/connectors/owner", {"owner": owner}, {"name": name})

    def report(self, name: str) -> dict[str, Any] | None:
        """Return what Hearth knows of a connector: revision, runs, counts, rates, lag; None on a worker of Java."""
        try:
            return dict(self._request("GET", "/hearth/connectors/report", query={"name": name}))
        except NotFoundError:
            return None

    def summaries(self) -> dict[str, dict[str, Any]]:
        """Return rate, lag, errors, restarts and since of each connector by its name; empty on a worker of Java."""
        try:
            return dict(self._request("GET", "/hearth/reports"))
        except NotFoundError:
            return {}

    def explanation(self, name: str) -> dict[str, Any]:
        """Return what a connector that exists does or waits for, with findings; needs Hearth."""
        try:
            return dict(self._request("GET", "/hearth/connectors/explain", query={"name": name}))
        except NotFoundError as error:
            raise ConfigError(_NEEDS_HEARTH, code="client.java", hint="see `hearth status NAME`") from error

    def log(self, connector: str | None, after: str | None, level: str) -> dict[str, Any]:
        """Return the last `lines` of a worker's log about a connector or itself, and `next`; needs Hearth."""
        given = {"connector": connector, "after": after, "level": level}
        try:
            return dict(self._request("GET", "/hearth/logs", query={key: each for key, each in given.items() if each}))
        except NotFoundError as error:
            raise ConfigError(_NEEDS_HEARTH, code="client.java", hint="read the worker's own output") from error

    def preview(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return what becomes of a few records; needs Hearth."""
        try:
            return dict(self._request("POST", "/hearth/preview", request))
        except NotFoundError as error:
            hint = "--worker-config FILE makes the preview on this machine"
            raise ConfigError(_NEEDS_HEARTH, code="client.java", hint=hint) from error

    def _of(
        self, name: str, method: str, sub: str, body: object = None, query: Mapping[str, Any] | None = None
    ) -> Any:
        """Send a request about one connector."""
        if _UNSAFE.search(name):
            return self._request(method, f"/hearth/connectors{sub}", body, {"name": name, **(query or {})})
        return self._request(method, f"/connectors/{quote(name, safe='')}{sub}", body, query)


def _connector(name: str, found: Mapping[str, Any]) -> RemoteConnector:
    info, status = found.get("info", {}), found.get("status")
    if status is None:
        return RemoteConnector(name, info.get("type", "unknown"), UNASSIGNED, "", info.get("config", {}))
    own = status["connector"]
    return RemoteConnector(
        name,
        status.get("type") or info.get("type", "unknown"),
        own["state"],
        own["worker_id"],
        info.get("config", {}),
        tuple(_tasks(status["tasks"])),
        own.get("trace"),
        own.get("version"),
    )


def _tasks(found: Sequence[Mapping[str, Any]]) -> Iterator[RemoteTask]:
    for each in sorted(found, key=lambda task: int(task["id"])):
        yield RemoteTask(each["id"], each["state"], each["worker_id"], each.get("trace"))
