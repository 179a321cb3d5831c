"""`hearth explain`: what a connector of a running cluster does or waits for, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.client_option import cluster_option, connector_names
from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster


@click.command()
@click.argument("name", shell_complete=connector_names)
@cluster_option
@json_option
def explain(name: str, cluster: RemoteCluster, as_json: bool) -> None:
    """Explain what a connector does or waits for: findings with evidence, cause and remedy, the likeliest first."""
    from hearth.client.selection import Selection

    (found,) = Selection((name,)).of(cluster.connectors())
    explanation = cluster.explanation(found.name)
    if as_json:
        click.echo(json.dumps(explanation, indent=1))
        return
    click.echo(printable(f"{name}: {explanation['condition']}"))
    for finding in explanation["findings"]:
        click.echo(printable("\n".join(_lines(finding))))


def _lines(finding: Mapping[str, Any]) -> Iterator[str]:
    task = "" if finding.get("task") is None else f" (task {finding['task']})"
    yield f"  {finding['condition']}{task}: {finding['evidence']}"
    for word in ("cause", "remedy"):
        if finding.get(word):
            yield f"    {word:<7} {finding[word]}"
