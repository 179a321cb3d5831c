"""`hearth logs`: the last lines that the workers of a running cluster logged, about a connector or themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.client_option import cluster_option, connector_names
from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable
from hearth_api import ConnectError
from hearth_stage.level import LEVELS

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster

_EVERY = 1.0
"""Seconds between two looks of --follow."""


class ClusterLog:
    """The logs of all workers, each read on from where it was read last."""

    def __init__(self, cluster: RemoteCluster, name: str | None, level: str) -> None:
        self._cluster, self._name, self._level = cluster, name, level
        self._next: dict[str, str] = {}

    def read(self) -> list[dict[str, Any]]:
        """Return the lines that were not read before, in the order of their times; each has its worker.

        A worker that does not answer is left out; raises what the last one raised if none does.
        """
        from hearth.client.worker_address import worker_addresses

        lines, failure = [], None
        addresses = worker_addresses(self._cluster, self._cluster.connectors().values())
        answered = False
        for worker_id, url in addresses.items():
            try:
                found = self._ask(worker_id, url)
            except ConnectError as error:
                failure = error
                continue
            answered = True
            self._next[worker_id] = found["next"]
            lines += [{"worker_id": worker_id, **line} for line in found["lines"]]
        if failure is not None and not answered:
            raise failure
        return sorted(lines, key=lambda line: datetime.fromisoformat(line["time"]))

    def _ask(self, worker_id: str, url: str) -> Mapping[str, Any]:
        from hearth.client.remote_cluster import RemoteCluster

        one = RemoteCluster(self._cluster.client.at(url))
        with closing(one.client):
            return one.log(self._name, self._next.get(worker_id), self._level)


@click.command()
@click.argument("name", required=False, shell_complete=connector_names)
@cluster_option
@click.option("--follow", "-f", is_flag=True, help="Print further lines as they come, until Ctrl-C.")
@click.option("--level", type=click.Choice(list(LEVELS), case_sensitive=False), default="INFO", show_default=True,
              help="The least level.")  # fmt: skip
@click.option("--tail", type=click.IntRange(0), default=100, show_default=True, help="The most lines to begin with.")
@json_option
def logs(name: str | None, cluster: RemoteCluster, follow: bool, level: str, tail: int, as_json: bool) -> None:
    """Print what the workers logged about a connector and its tasks, or without NAME about themselves.

    A worker keeps the last 1000 lines of each connector. With --json each line is an object.
    """
    from hearth.client.selection import Selection

    if name is not None:
        Selection((name,)).of(cluster.connectors())
    log = ClusterLog(cluster, name, level.upper())
    lines = log.read()
    _echo(lines[max(0, len(lines) - tail) :], as_json)
    while follow:
        time.sleep(_EVERY)
        _echo(log.read(), as_json)


def _echo(lines: Iterable[Mapping[str, Any]], as_json: bool) -> None:
    for line in lines:
        if as_json:
            click.echo(json.dumps(line))
            continue
        about = f"[{line['context']}] " if line["context"] else ""
        click.echo(printable(f"[{line['time']}] {line['level']} {about}{line['message']} ({line['logger']})"))
