"""Options and output of the commands that write configurations of connectors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth.cli.option_group import options
from hearth.foundation.terminal import printable
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.client.connector_text import WrittenConnector

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]|^\.")
"""Characters of a connector's name that its file does not have."""

form_options = options(
    click.option(
        "-o", "form", type=click.Choice(["json", "properties", "yaml", "strimzi"]), default="json", show_default=True,
        help="JSON or YAML with name, config and initial_state; Java properties; KafkaConnector resources of Strimzi.",
    ),
    click.option(
        "--to", "folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
        help="Write a file for each connector; needed for more than one, except in YAML.",
    ),
    click.option("--cluster-label", metavar="NAME", default="", help="Label strimzi.io/cluster of the resources."),
)  # fmt: skip


def write_connectors(connectors: Sequence[WrittenConnector], form: str, folder: Path | None) -> None:
    """Print connectors in a form, or write a file for each; raises ConfigError if they do not fit in one."""
    from hearth.client.connector_text import FORMS

    texts = {each.name: FORMS[form](each) for each in connectors}
    if folder is None:
        if len(texts) > 1 and form in ("json", "properties"):
            raise ConfigError(
                f"{len(texts)} connectors do not fit in one {form} file",
                code="export.many",
                hint="--to DIR, name one, or -o yaml",
            )
        click.echo("---\n".join(texts.values()), nl=False)
        return
    folder.mkdir(parents=True, exist_ok=True)
    ending = {"strimzi": "yaml"}.get(form, form)
    for name, text in texts.items():
        path = folder / f"{_UNSAFE.sub('_', name)}.{ending}"
        path.write_text(text, encoding="utf-8")
        click.echo(printable(f"wrote {path}"))
