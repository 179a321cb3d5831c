"""`hearth export`: write the configurations of a running cluster as files that `hearth apply` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth.cli.client_option import cluster_option, selecting
from hearth.cli.connector_output import form_options, write_connectors

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster
    from hearth.client.selection import Selection

_STATES = ("PAUSED", "STOPPED")


@click.command()
@selecting
@cluster_option
@form_options
def export(selection: Selection, cluster: RemoteCluster, form: str, folder: Path | None, cluster_label: str) -> None:
    """Write the configurations of all or the named connectors.

    Variables are written as they are stored. Passwords that the worker hides are not exported: replace "[hidden]".
    """
    from hearth.client.connector_text import RUNNING, WrittenConnector

    found = [
        WrittenConnector(each.name, each.config, each.state if each.state in _STATES else RUNNING, cluster_label)
        for each in selection.of(cluster.connectors())
    ]
    write_connectors(found, form, folder)
