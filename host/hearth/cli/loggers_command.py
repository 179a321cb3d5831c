"""`hearth loggers`: show and set log levels of a running worker or cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hearth.cli.client_option import cluster_option, echo_items, echo_table
from hearth.cli.json_option import json_option
from hearth.foundation.nearest import did_you_mean
from hearth.foundation.terminal import printable
from hearth_api import ConfigError
from hearth_stage.level import LEVELS

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster


@click.group()
def loggers() -> None:
    """Show and set log levels without a restart."""


@loggers.command(name="list")
@cluster_option
@json_option
def list_(cluster: RemoteCluster, as_json: bool) -> None:
    """Print the loggers of the worker that answers, with their levels."""
    found = sorted(cluster.loggers().items())
    if as_json:
        echo_items({"name": name, **each} for name, each in found)
    else:
        rows = [(name, str(each["level"])) for name, each in found]
        echo_table(("LOGGER", "LEVEL"), rows, "no loggers")


@loggers.command(name="set")
@click.argument("logger")
@click.argument("level")
@cluster_option
@click.option(
    "--scope", type=click.Choice(["worker", "cluster"]), default="worker", show_default=True,
    help="Set the level on the worker that answers, or on all workers.",
)  # fmt: skip
def set_(logger: str, level: str, cluster: RemoteCluster, scope: str) -> None:
    """Set the level of LOGGER and all below it; `root` is all.

    Levels are those of Kafka Connect: TRACE, DEBUG, INFO, WARN, ERROR, FATAL, OFF.
    """
    if level.upper() not in LEVELS:
        raise ConfigError(
            f"{level!r} is not a log level{did_you_mean(level.upper(), LEVELS)}",
            code="log.level",
            hint=f"one of {', '.join(LEVELS)}",
        )
    changed = cluster.set_level(logger, level.upper(), scope)
    click.echo(printable(f"{logger} is {level.upper()}" + (f": {', '.join(changed)}" if changed else "")))
