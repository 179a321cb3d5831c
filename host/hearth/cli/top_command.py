"""`hearth top`: what the connectors of a running cluster do now."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import click

from hearth.cli.client_option import cluster_option
from hearth.cli.duration import SECONDS
from hearth.foundation.terminal import clear_screen, printable, table

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster, RemoteConnector

_HEAD = ("NAME", "TYPE", "STATE", "TASKS", "COMMITTED", "PER SECOND")


@click.command()
@cluster_option
@click.option("--every", type=SECONDS, default="2s", show_default=True, help="Time between two looks.")
@click.option("--count", type=int, default=0, help="Number of looks; 0 goes on until Ctrl-C.")
def top(cluster: RemoteCluster, every: float, count: int) -> None:
    """Show, again and again, how many offsets connectors commit; the busiest first.

    For a sink these are records of its topics. For a source they are the numbers in its offsets, whatever they count.
    """
    before: dict[str, int] = {}
    looked_at, looks = 0.0, 0
    while True:
        found = cluster.connectors()
        committed = {name: _committed(cluster, each) for name, each in found.items()}
        now = time.monotonic()
        seconds = now - looked_at
        rates = {name: (count - before[name]) / seconds for name, count in committed.items() if name in before}
        _show(found, committed, rates)
        before, looked_at, looks = committed, now, looks + 1
        if looks == count:
            return
        time.sleep(every)


def _show(found: dict[str, RemoteConnector], committed: dict[str, int], rates: dict[str, float]) -> None:
    states = Counter(each.worst for each in found.values())
    summary = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    order = sorted(found, key=lambda name: (found[name].worst != "FAILED", -rates.get(name, 0.0), name))
    rows = [
        (
            name,
            found[name].type,
            found[name].worst,
            str(len(found[name].tasks)),
            f"{committed[name]:,}",
            f"{rates[name]:,.0f}" if name in rates else "-",
        )
        for name in order
    ]
    clear_screen()
    click.echo(printable(f"{len(found)} connectors: {summary or 'none'}"))
    click.echo(table(_HEAD, rows))


def _committed(cluster: RemoteCluster, connector: RemoteConnector) -> int:
    """Return the sum of the numbers in all committed offsets."""
    offsets = [each["offset"] for each in cluster.offsets(connector.name)]
    numbers = [value for each in offsets if isinstance(each, dict) for value in each.values()]
    return sum(value for value in numbers if isinstance(value, int) and not isinstance(value, bool))
