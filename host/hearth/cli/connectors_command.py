"""`hearth connectors`: act on connectors of a running cluster, one or many."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from hearth.cli.client_option import (
    cluster_option,
    confirm,
    connector_names,
    echo_items,
    echo_names,
    echo_table,
    for_each,
    output_options,
    selecting,
)
from hearth.cli.duration import SECONDS
from hearth.foundation.nearest import did_you_mean
from hearth.foundation.terminal import printable
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster
    from hearth.client.selection import Selection


@click.group()
def connectors() -> None:
    """List connectors, and pause, resume, stop, restart or delete them."""


@connectors.command(name="list")
@selecting
@cluster_option
@output_options
def list_(selection: Selection, cluster: RemoteCluster, as_json: bool, output: str | None) -> None:
    """Print names, types, classes and states."""
    found = selection.of(cluster.connectors())
    classes = {each.name: each.config.get("connector.class", "") for each in found}
    if as_json:
        echo_items({**each.to_json(), "class": classes[each.name]} for each in found)
    elif output == "name":
        echo_names(classes)
    else:
        rows = [(each.name, each.type, classes[each.name], each.worst) for each in found]
        echo_table(("NAME", "TYPE", "CLASS", "STATE"), rows, "no connectors")


@connectors.command()
@click.argument("name", shell_complete=connector_names)
@cluster_option
def describe(name: str, cluster: RemoteCluster) -> None:
    """Print all about one connector as JSON: status, configuration, offsets."""
    from hearth.client.selection import Selection

    (found,) = Selection((name,)).of(cluster.connectors())
    known = {**found.to_json(), "config": dict(found.config), "offsets": cluster.offsets(name)}
    click.echo(json.dumps(known, indent=1))


@connectors.command()
@selecting
@cluster_option
@output_options
def pause(selection: Selection, cluster: RemoteCluster, as_json: bool, output: str | None) -> int:
    """Pause connectors: their tasks stay, and do nothing."""
    return for_each(selection, cluster, "paused", lambda name: cluster.set_state(name, "PAUSED"), as_json, output)


@connectors.command()
@selecting
@cluster_option
@output_options
def resume(selection: Selection, cluster: RemoteCluster, as_json: bool, output: str | None) -> int:
    """Resume paused or stopped connectors."""
    return for_each(selection, cluster, "resumed", lambda name: cluster.set_state(name, "RUNNING"), as_json, output)


@connectors.command()
@selecting
@cluster_option
@output_options
def stop(selection: Selection, cluster: RemoteCluster, as_json: bool, output: str | None) -> int:
    """Stop connectors: their tasks end, and their offsets can be changed."""
    return for_each(selection, cluster, "stopped", lambda name: cluster.set_state(name, "STOPPED"), as_json, output)


@connectors.command()
@selecting
@cluster_option
@output_options
@click.option(
    "--tasks",
    type=click.Choice(["failed", "all", "none"]),
    default="failed",
    show_default=True,
    help="What restarts: what has failed, the connector with all tasks, or the connector alone.",
)
def restart(selection: Selection, cluster: RemoteCluster, as_json: bool, output: str | None, tasks: str) -> int:
    """Restart connectors and tasks; prints the states that the worker answers with."""

    def act(name: str) -> str:
        answer = cluster.restart(name, tasks)
        if answer is None:
            return ""
        states = [f"connector {answer['connector']['state']}"]
        states += [f"task {each['id']} {each['state']}" for each in answer["tasks"]]
        return ", ".join(states)

    return for_each(selection, cluster, "restarted", act, as_json, output)


@connectors.command()
@selecting
@cluster_option
@output_options
@click.option("--yes", is_flag=True, help="Do not ask; needed where there is no terminal.")
def delete(selection: Selection, cluster: RemoteCluster, as_json: bool, output: str | None, yes: bool) -> int:
    """Delete connectors. Their offsets stay: a connector of the same name continues there.

    `hearth offsets reset` removes the offsets of a stopped connector before.
    """
    if not yes:
        _confirm([each.name for each in selection.of_named(cluster.connectors())])
    return for_each(selection, cluster, "deleted", cluster.delete, as_json, output)


@connectors.command()
@selecting
@cluster_option
@click.option(
    "--for", "goal", metavar="GOAL", default="running", show_default=True,
    help="The state to wait for, with all tasks: running, paused, stopped, deleted; or lag=0, the records that a sink "
    "may be behind.",
)  # fmt: skip
@click.option("--timeout", type=SECONDS, default="60s", show_default=True, help="How long to wait.")
@click.option("--settle", type=SECONDS, default="2s", show_default=True, help="How long the state has to last.")
def wait(selection: Selection, cluster: RemoteCluster, goal: str, timeout: float, settle: float) -> None:
    """Wait until connectors are in a state, or sinks have read all.

    Exit code 5 means that they are not in time, 1 that one of them failed instead; its trace is printed.
    """
    from hearth.client.waiting import GOALS, ConnectorFailed, Waiting

    word, _, most = goal.partition("=")
    if goal not in GOALS and not (word == "lag" and most.isdecimal()):
        raise ConfigError(
            f"--for {goal!r} is no goal{did_you_mean(goal, GOALS)}",
            code="client.goal",
            hint=f"one of {', '.join(GOALS)}, lag=NUMBER",
        )
    names = selection.names if goal == "deleted" else [each.name for each in selection.of_named(cluster.connectors())]
    if not names:
        raise ConfigError("no connector is named", code="client.selection", hint="name connectors, or use --all")
    try:
        waiting = Waiting(cluster, timeout, settle)
        if most:
            waiting.wait_for_lag(names, int(most))
        else:
            waiting.wait(dict.fromkeys(names, GOALS[goal]))
    except ConnectorFailed as error:
        click.echo(printable(error.trace or ""), err=True)
        raise
    for name in names:
        click.echo(printable(f"{name} is {goal}" if not most else f"{name} is at most {most} records behind"))


def _confirm(names: list[str]) -> None:
    """Ask before a deletion; raises ConfigError where nobody can answer."""
    if names:
        confirm(printable(f"Delete {', '.join(names)}?"), "the deletion")
