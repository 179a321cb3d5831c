"""`hearth export`: write the configurations of a running cluster as files that `hearth apply` reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.client_option import cluster_option, selecting
from hearth.foundation.properties import render
from hearth.foundation.terminal import printable
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster, RemoteConnector
    from hearth.client.selection import Selection

_STATES = ("PAUSED", "STOPPED")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]|^\.")
"""Characters of a connector's name that its file does not have."""


@click.command()
@selecting
@cluster_option
@click.option(
    "-o", "form", type=click.Choice(["json", "properties", "yaml", "strimzi"]), default="json", show_default=True,
    help="JSON or YAML with name, config and initial_state; Java properties; KafkaConnector resources of Strimzi.",
)  # fmt: skip
@click.option(
    "--to", "folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
    help="Write a file for each connector; needed for more than one, except in YAML.",
)  # fmt: skip
@click.option("--cluster-label", metavar="NAME", default="", help="Label strimzi.io/cluster of the resources.")
def export(selection: Selection, cluster: RemoteCluster, form: str, folder: Path | None, cluster_label: str) -> None:
    """Write the configurations of all or the named connectors.

    Variables are written as they are stored. Passwords that the worker hides are not exported: replace "[hidden]".
    """
    chosen = selection.of(cluster.connectors())
    documents = {each.name: _FORMS[form](each, cluster_label) for each in chosen}
    if folder is None:
        if len(documents) > 1 and form in ("json", "properties"):
            raise ConfigError(
                f"{len(documents)} connectors do not fit in one {form} file",
                code="export.many",
                hint="--to DIR, name one, or -o yaml",
            )
        click.echo("---\n".join(documents.values()), nl=False)
        return
    folder.mkdir(parents=True, exist_ok=True)
    ending = {"strimzi": "yaml"}.get(form, form)
    for name, text in documents.items():
        path = folder / f"{_UNSAFE.sub('_', name)}.{ending}"
        path.write_text(text, encoding="utf-8")
        click.echo(printable(f"wrote {path}"))


def _document(connector: RemoteConnector) -> dict[str, Any]:
    """Return the members of the REST API's request that creates the connector."""
    state = {"initial_state": connector.state} if connector.state in _STATES else {}
    return {"name": connector.name, "config": _sorted(connector.config), **state}


def _json(connector: RemoteConnector, _label: str) -> str:
    return json.dumps(_document(connector), indent=2, ensure_ascii=False) + "\n"


def _properties(connector: RemoteConnector, _label: str) -> str:
    return render(_sorted(connector.config))


def _yaml(connector: RemoteConnector, _label: str) -> str:
    return _dumped(_document(connector))


def _strimzi(connector: RemoteConnector, label: str) -> str:
    from hearth.client.strimzi import write_resource

    state = connector.state if connector.state in _STATES else "RUNNING"
    return _dumped(write_resource(_sorted(connector.config), state, label))


def _dumped(document: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000))


def _sorted(config: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration with the name and the class first, so that equal ones are equal texts."""
    first = ("name", "connector.class", "tasks.max")
    return {key: config[key] for key in (*first, *sorted(config.keys() - set(first))) if key in config}


_FORMS: Mapping[str, Callable[[RemoteConnector, str], str]] = {
    "json": _json, "properties": _properties, "yaml": _yaml, "strimzi": _strimzi,
}  # fmt: skip
