"""`hearth convert`: write files of connectors in another form."""

from __future__ import annotations

import re
from pathlib import Path

import click

from hearth.cli.connector_output import form_options, write_connectors
from hearth.foundation.terminal import printable

_RESOURCE_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


@click.command()
@click.argument("paths", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@form_options
def convert(paths: tuple[Path, ...], form: str, folder: Path | None, cluster_label: str) -> None:
    """Write connectors of files in another form: properties, JSON, YAML, resources of Strimzi.

    FILE is a file in any of these forms, a folder, which is searched in depth, or - for standard input. What the form
    cannot say, or what had no effect in the file, is said on standard error.
    """
    from hearth.client.connector_file import read_connectors
    from hearth.client.connector_text import RUNNING, WrittenConnector

    found = []
    for each in read_connectors(paths):
        state = each.state or each.initial_state or RUNNING
        notes = list(each.notes)
        if form == "properties" and state != RUNNING:
            notes.append(f"its state {state} is left out: properties have none")
        if form == "strimzi" and not _RESOURCE_NAME.fullmatch(each.name):
            notes.append("Kubernetes takes no such name: it allows a-z, 0-9, - and .")
        for note in notes:
            click.echo(printable(f"{each.path}: {each.name}: {note}"), err=True)
        found.append(WrittenConnector(each.name, each.config, state, cluster_label))
    write_connectors(found, form, folder)
