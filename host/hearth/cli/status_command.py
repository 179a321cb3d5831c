"""`hearth status`: the connectors of a running cluster, those that failed first."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.client_option import cluster_option, echo_items, echo_names, echo_table, output_options, selecting
from hearth.foundation.terminal import clear_screen, printable

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster, RemoteConnector
    from hearth.client.selection import Selection

_ORDER = {"FAILED": 0, "UNASSIGNED": 1, "RESTARTING": 2, "RUNNING": 3, "PAUSED": 4, "STOPPED": 5}
_EVERY = 0.5
"""Seconds between two looks of --watch."""
_TRACE_LINES = 2
_ENDS = 3
"""How many of the last ends of a task's runs are shown."""
_LONGEST = 100
_REMEDY = (
    "`hearth explain {}`; correct the configuration (`hearth diff`, `hearth apply`), or `hearth connectors restart {}`"
)


@click.command()
@selecting
@cluster_option
@output_options
@click.option("--watch", is_flag=True, help="Show every change, until Ctrl-C; with --json a line for each.")
def status(selection: Selection, cluster: RemoteCluster, as_json: bool, output: str | None, watch: bool) -> None:
    """Show connectors and their tasks, those that failed first.

    Named connectors are shown with all their tasks, and the beginning of the trace of what failed.
    """
    shown = None
    while True:
        found = sorted(
            selection.of(cluster.connectors()), key=lambda each: (_ORDER.get(each.worst, len(_ORDER)), each.name)
        )
        if found != shown:
            if watch and as_json:
                click.echo(json.dumps({"items": [each.to_json() for each in found], "errors": []}))
            else:
                if watch:
                    clear_screen()
                is_table = not (selection.names or as_json or output)
                _show(found, cluster, bool(selection.names), cluster.summaries() if is_table else {}, as_json, output)
            shown = found
        if not watch:
            return
        time.sleep(_EVERY)


def _show(
    found: list[RemoteConnector],
    cluster: RemoteCluster,
    are_named: bool,
    summaries: Mapping[str, Mapping[str, Any]],
    as_json: bool,
    output: str | None,
) -> None:
    """Print connectors: named ones with their tasks and reports, others as a table."""
    if as_json:
        echo_items(each.to_json() for each in found)
    elif output == "name":
        echo_names(each.name for each in found)
    elif are_named:
        click.echo("\n\n".join(printable("\n".join(_details(each, cluster.report(each.name)))) for each in found))
    else:
        rows = [_row(each, summaries.get(each.name)) for each in found]
        echo_table(("NAME", "TYPE", "STATE", "TASKS", "RATE", "LAG", "WORKER", "ERROR"), rows, "no connectors")


def _row(connector: RemoteConnector, summary: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return a line of the table; rate (records a second) and lag are `-` where they are not known."""
    rate = "-" if summary is None else f"{summary['rate']:,.1f}"
    lag = "-" if summary is None or summary["lag"] is None else f"{summary['lag']:,}"
    state = (connector.name, connector.type, connector.worst, _tasks(connector))
    return (*state, rate, lag, connector.worker_id, _first(connector.first_trace or ""))


def _tasks(connector: RemoteConnector) -> str:
    """Return the number of tasks by state, the same state for all in short."""
    counts = Counter(each.state for each in connector.tasks)
    if not counts:
        return "0"
    if set(counts) == {connector.state}:
        return str(len(connector.tasks))
    return ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))


def _details(connector: RemoteConnector, report: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield a connector as lines; the report is Hearth's, None on a worker of Java."""
    known = {} if report is None else {task["id"]: task for task in report["tasks"]}
    version = f" {connector.version}" if connector.version else ""
    yield f"{connector.name}: {connector.state}, {connector.type}{version} on {connector.worker_id or 'no worker'}"
    yield f"  class {connector.config.get('connector.class', '?')}"
    yield from _trace(connector.trace)
    for task in connector.tasks:
        yield f"  task {task.id}: {task.state} on {task.worker_id}"
        yield from _trace(task.trace)
        yield from _run(known.get(task.id, {}))
    if report is not None and report["lag"]["records"] is not None:
        yield f"  lag {report['lag']['records']:,} records, {report['lag']['seconds'] or 0:g} s"
    if connector.worst == "FAILED":
        yield f"  what to do: {_REMEDY.format(connector.name, connector.name)}"


def _run(task: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a report knows of a task's run."""
    if "since" not in task:
        return
    rates = {name: rate for name, rate in task["rates"].items() if rate}
    shown = ", ".join(f"{name} {rate:,.1f}/s" for name, rate in rates.items()) or "no records now"
    yield f"    since {task['since']}, {task['restarts']} restarts, {shown}"
    for end in task["ends"][:_ENDS]:
        yield f"    {end['how']} at {end['at']}: {_first(end['words'] or '')}"


def _first(text: str) -> str:
    lines = text.strip().splitlines()
    first = lines[0] if lines else ""
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"


def _trace(trace: str | None) -> Iterator[str]:
    for line in (trace or "").strip().splitlines()[:_TRACE_LINES]:
        yield f"    {line.strip()}"
