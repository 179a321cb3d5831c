"""`hearth hosts`: the workers of a running cluster, and whether they are healthy."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.client_option import cluster_option, echo_items, echo_names, echo_table, output_options
from hearth.cli.duration import SECONDS
from hearth.cli.exit_code import ExitCode
from hearth_api import ConnectError

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster

_EVERY = 0.5


@click.command()
@cluster_option
@output_options
@click.option("--wait", is_flag=True, help="Wait until every worker is healthy; exit code 5 after --timeout.")
@click.option("--timeout", type=SECONDS, default="60s", show_default=True, help="How long --wait waits.")
def hosts(cluster: RemoteCluster, as_json: bool, output: str | None, wait: bool, timeout: float) -> int:
    """Show the workers: their health, version and how many connectors and tasks each has.

    Workers are those of the context's addresses, and those that the statuses of connectors name. Exit code 1 means
    that one of them is not healthy.
    """
    deadline = time.monotonic() + timeout
    while True:
        found = _hosts(cluster)
        is_well = all(each["health"] == "healthy" for each in found)
        if is_well or not wait or time.monotonic() > deadline:
            break
        time.sleep(_EVERY)
    if as_json:
        echo_items(found)
    elif output == "name":
        echo_names(each["url"] for each in found)
    else:
        rows = [[str(each[key]) for key in ("url", "health", "version", "connectors", "tasks")] for each in found]
        echo_table(("WORKER", "HEALTH", "VERSION", "CONNECTORS", "TASKS"), rows, "no workers")
    if is_well:
        return ExitCode.OK
    return ExitCode.TIMEOUT if wait else ExitCode.RUNTIME


def _hosts(cluster: RemoteCluster) -> list[dict[str, Any]]:
    from hearth.client.worker_address import same_worker, worker_addresses

    connectors: Counter[str] = Counter()
    tasks: Counter[str] = Counter()
    try:
        found = cluster.connectors()
    except ConnectError:
        found = {}  # the workers of the context are shown as they are
    urls = worker_addresses(cluster, found.values())
    for connector in found.values():
        connectors[same_worker(connector.worker_id, urls)] += 1
        tasks.update(same_worker(each.worker_id, urls) for each in connector.tasks)
    return [
        {
            "url": url,
            "worker_id": worker_id,
            **_health(cluster, url),
            "connectors": connectors[worker_id],
            "tasks": tasks[worker_id],
        }
        for worker_id, url in sorted(urls.items())
    ]


def _health(cluster: RemoteCluster, url: str) -> dict[str, str]:
    """Return the health of one worker; `unreachable` if it does not answer, and its version."""
    from hearth.client.remote_cluster import RemoteCluster

    one = RemoteCluster(cluster.client.at(url))
    try:
        version = str(one.server()["version"])
        return {"health": one.health(), "version": version, "message": ""}
    except ConnectError as error:
        return {"health": "unreachable", "version": "", "message": str(error)}
    finally:
        one.client.close()
