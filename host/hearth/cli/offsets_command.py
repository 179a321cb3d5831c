"""`hearth offsets`: show and change the committed offsets of connectors of a running cluster."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.client_option import cluster_option, connector_names, echo_table
from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster, RemoteConnector

_STOP_SECONDS = 60.0
_BEGIN_SECONDS = 10.0
_POLL_SECONDS = 0.1
_stop = click.option("--stop", is_flag=True, help="Stop the connector for the change, then bring back its state.")
_name = click.argument("name", shell_complete=connector_names)


@click.group()
def offsets() -> None:
    """Show and change the offsets from which connectors continue."""


@offsets.command()
@_name
@cluster_option
@json_option
def get(name: str, cluster: RemoteCluster, as_json: bool) -> None:
    """Print the committed offsets; --json prints what `hearth offsets set` reads."""
    _known(cluster, name)
    found = cluster.offsets(name)
    if as_json:
        click.echo(json.dumps({"offsets": found}, indent=1))
        return
    rows = [(_text(each["partition"]), _text(each["offset"])) for each in found]
    echo_table(("PARTITION", "OFFSET"), rows, f"{printable(name)} has no committed offsets")


@offsets.command(name="set")
@_name
@click.argument("file", type=click.Path(path_type=Path))
@_stop
@cluster_option
def set_(name: str, file: Path, stop: bool, cluster: RemoteCluster) -> None:
    """Set the offsets of FILE, - for standard input; those it does not name stay, a null offset removes one.

    FILE is the JSON of `hearth offsets get --json`, which is also that of the REST API.
    """
    given = _read(file)
    with _stopped(cluster, name, stop):
        click.echo(printable(cluster.set_offsets(name, given)))


@offsets.command()
@_name
@_stop
@cluster_option
def reset(name: str, stop: bool, cluster: RemoteCluster) -> None:
    """Remove all offsets: a source begins anew, a sink where its consumer's auto.offset.reset says."""
    with _stopped(cluster, name, stop):
        click.echo(printable(cluster.reset_offsets(name)))


@offsets.command()
@_name
@click.argument("target", shell_complete=connector_names)
@_stop
@cluster_option
def copy(name: str, target: str, stop: bool, cluster: RemoteCluster) -> None:
    """Give connector TARGET the offsets of NAME, as when a connector gets another name."""
    _known(cluster, name)
    found = cluster.offsets(name)
    if not found:
        raise ConfigError(f"{name} has no committed offsets", code="offsets.none", hint="let it run first")
    with _stopped(cluster, target, stop):
        click.echo(printable(cluster.set_offsets(target, found)))


@contextmanager
def _stopped(cluster: RemoteCluster, name: str, stop: bool) -> Iterator[None]:
    """Stop a connector, if asked to, and bring its state back afterwards, also after an error."""
    from hearth.client.waiting import Waiting

    before = _known(cluster, name)
    if before.state != "STOPPED" and not stop:
        raise ConfigError(
            f"{name} is {before.state}, and only a stopped connector's offsets can be changed",
            code="offsets.running",
            hint="--stop stops it for the change",
        )
    if before.state == "STOPPED":
        yield
        return
    cluster.set_state(name, "STOPPED")
    try:
        Waiting(cluster, _STOP_SECONDS, settle=0).wait({name: "STOPPED"})
        yield
    finally:
        cluster.set_state(name, "PAUSED" if before.state == "PAUSED" else "RUNNING")
        _await_begin(cluster, name)


def _await_begin(cluster: RemoteCluster, name: str) -> None:
    """Wait until the status no longer says STOPPED, so that whoever looks next sees what is wanted."""
    deadline = time.monotonic() + _BEGIN_SECONDS
    while _known(cluster, name).state == "STOPPED" and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _known(cluster: RemoteCluster, name: str) -> RemoteConnector:
    """Return a connector; raises NotFoundError with the nearest name."""
    from hearth.client.selection import Selection

    (found,) = Selection((name,)).of(cluster.connectors())
    return found


def _read(file: Path) -> list[dict[str, Any]]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        found = json.loads(text)["offsets"]
        if not isinstance(found, list) or not all(isinstance(each, dict) and "partition" in each for each in found):
            raise TypeError("a list of objects with partition and offset is expected")
    except (ValueError, TypeError, KeyError, OSError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else getattr(error, "strerror", None) or error
        raise ConfigError(
            f"{file} holds no offsets: {reason}",
            code="offsets.file",
            hint='write {"offsets": [{"partition": {…}, "offset": {…}}]}, as `hearth offsets get --json` prints it',
        ) from error
    return found


def _text(value: Any) -> str:
    """Return a partition or offset in short: key=value, separated by spaces."""
    if not isinstance(value, dict):
        return json.dumps(value)
    return " ".join(f"{key}={each if isinstance(each, str) else json.dumps(each)}" for key, each in value.items())
