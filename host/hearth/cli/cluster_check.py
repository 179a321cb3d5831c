"""Checks of `hearth doctor` on a running cluster, by requests that change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from hearth.cli.doctor_finding import FAIL, PASS, WARN, DoctorFinding
from hearth.cli.exit_code import ExitCode
from hearth.client.remote_cluster import FAILED, RemoteCluster, RemoteConnector
from hearth.client.worker_address import worker_addresses
from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth_api import ConfigError, ConnectError

_CALM = ("flows", "idle", "paused", "stopped", "starting", "changing", "lag of 1", "unknown")
"""Conditions of a connector that needs nothing."""
_BROKEN = ("connector failed", "task failed")
_TOLERANCE = "errors.tolerance"
_ADDRESS = "correct rest.advertised.host.name and port of that worker, and let workers reach each other there"


def cluster_findings(cluster: RemoteCluster) -> Iterator[DoctorFinding]:
    """Yield what the workers and connectors of a cluster lack; raises ConnectError if no worker answers."""
    connectors = cluster.connectors()
    yield from _workers(cluster, worker_addresses(cluster, connectors.values()))
    summaries = cluster.summaries()
    for connector in connectors.values():
        found = [*_connector(cluster, connector, bool(summaries)), *_settings(connector)]
        yield from found or [DoctorFinding("connector", PASS, f"{connector.name} is {connector.state}")]
    if not connectors:
        yield DoctorFinding("connector", PASS, "there are no connectors")


def _workers(cluster: RemoteCluster, addresses: Mapping[str, str]) -> Iterator[DoctorFinding]:
    """Yield which workers answer, are healthy, and can pass requests on to the leader."""
    servers: dict[str, dict[str, Any]] = {}
    for worker_id, url in addresses.items():
        one = RemoteCluster(cluster.client.at(url))
        with closing(one.client):
            try:
                servers[worker_id] = one.server()
                health, message = one.health_words()
            except ConnectError as error:
                yield DoctorFinding("worker", FAIL, f"{worker_id}: {error}", _ADDRESS, ExitCode.ENVIRONMENT)
                continue
            if health != "healthy":
                fact, remedy = f"{worker_id} is {health}: {message}", "see the log of that worker"
                yield DoctorFinding("worker", FAIL, fact, remedy, ExitCode.RUNTIME)
                continue
            yield DoctorFinding("worker", PASS, f"{worker_id} is healthy, version {servers[worker_id]['version']}")
            yield from _passing_on(worker_id, one)
    for member, level, remedy in (
        ("kafka_cluster_id", FAIL, "give all workers of a group.id the same bootstrap.servers"),
        ("version", WARN, "finish the upgrade"),
    ):
        if len(values := {str(each[member]) for each in servers.values()}) > 1:
            code = ExitCode.BAD_INPUT if level == FAIL else ExitCode.OK
            yield DoctorFinding(
                "worker", level, f"workers differ in {member}: {', '.join(sorted(values))}", remedy, code
            )


def _passing_on(worker_id: str, worker: RemoteCluster) -> Iterator[DoctorFinding]:
    try:
        worker.summaries()  # answered by the leader
    except ConnectError as error:
        fact = f"{worker_id} cannot pass a request on to the leader: {error}"
        yield DoctorFinding("worker", FAIL, fact, _ADDRESS, ExitCode.ENVIRONMENT)


def _connector(cluster: RemoteCluster, connector: RemoteConnector, is_hearth: bool) -> Iterator[DoctorFinding]:
    """Yield what the explanation of a connector says, on a worker of Java's what its status says."""
    name = connector.name
    if not is_hearth:
        if connector.worst == FAILED:
            fact = f"{name} has failed: {(connector.first_trace or '?').splitlines()[0]}"
            yield DoctorFinding("connector", FAIL, fact, "see `hearth status`", ExitCode.RUNTIME)
        return
    try:
        findings = cluster.explanation(name)["findings"]
    except ConfigError:
        return  # it has just been deleted
    for each in findings:
        if each["condition"] in _CALM:
            continue
        is_broken = each["condition"] in _BROKEN
        task = f" (task {each['task']})" if "task" in each else ""
        yield DoctorFinding(
            "connector", FAIL if is_broken else WARN,
            f"{name}{task}: {each['condition']}: {each['evidence']}; {each['cause']}", each["remedy"],
            ExitCode.RUNTIME if is_broken else ExitCode.OK,
        )  # fmt: skip
    report = cluster.report(name)
    letters = sum(int(task.get("counts", {}).get("dead_lettered", 0)) for task in (report or {"tasks": ()})["tasks"])
    if letters:
        fact, remedy = f"{name}: {letters} dead letters in the present runs", f"hearth dlq list {name}"
        yield DoctorFinding("connector", WARN, fact, remedy)


def _settings(connector: RemoteConnector) -> Iterator[DoctorFinding]:
    config = connector.config
    if config.get(_TOLERANCE) == "all" and connector.type == "sink" and not config.get(DEAD_LETTER_TOPIC):
        fact = f"{connector.name}: {_TOLERANCE}=all, and there is no dead letter queue: records that fail are gone"
        yield DoctorFinding("connector", WARN, fact, f"set {DEAD_LETTER_TOPIC}")
