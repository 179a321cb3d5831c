"""`hearth preview`: what becomes of a connector's records, step by step, without writing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from hearth.cli.client_option import cluster_option, connector_names
from hearth.cli.exit_code import ExitCode
from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable
from hearth_api import ConfigError

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster

_text_file = click.File("r", encoding="utf-8")


@click.command()
@click.argument("what", metavar="FILE|NAME", shell_complete=connector_names)
@cluster_option
@json_option
@click.option("--limit", type=click.IntRange(1, 1000), default=10, show_default=True, help="The most records.")
@click.option("--seconds", type=float, default=10.0, show_default=True, help="The most seconds to wait for them.")
@click.option(
    "--from",
    "begin",
    type=click.Choice(["beginning", "end", "committed"]),
    default="beginning",
    show_default=True,
    help="Where a sink's records begin; committed is where its tasks continue.",
)
@click.option(
    "--values",
    type=click.Choice(["show", "shape"]),
    default="show",
    show_default=True,
    help="Show values, or only their types and lengths.",
)
@click.option(
    "--records", type=_text_file, help="Lines of JSON (key, value, headers, topic) instead of the source or topic."
)
@click.option(
    "--expect",
    type=_text_file,
    help="Lines of JSON: the last form of each record that is left; exit code 4 if they differ.",
)
@click.option("--accept-effects", is_flag=True, help="Poll a source, although its system may notice.")
@click.option(
    "--worker-config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make the preview on this machine, with this worker's file, instead of the cluster.",
)
def preview(
    what: str,
    cluster: RemoteCluster,
    as_json: bool,
    records: IO[str] | None,
    expect: IO[str] | None,
    worker_config: Path | None,
    begin: str,
    **wanted: Any,
) -> int:
    """Show each record before and after every step of a connector, and what its bytes would be.

    A FILE is a connector's configuration, a NAME a connector of the cluster. A sink's records are read from its
    topics, and it ends before `put`. Nothing is written, committed, created or registered.
    """
    given = None if records is None else list(_lines(records))
    request = {**_named(what, cluster), **wanted, "from": begin, "records": given}
    found = cluster.preview(request) if worker_config is None else _here(worker_config, request)
    if as_json:
        click.echo(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        for record in found["records"]:
            click.echo(printable("\n".join(_shown(record))))
        error = f": {found['error']}" if found["error"] else ""
        click.echo(printable(f"{len(found['records'])} records, ended by {found['ended']}{error}"))
    if expect is not None and (difference := _difference(found["records"], list(_lines(expect)))) is not None:
        click.echo(printable(difference), err=True)
        return ExitCode.DIFFERENCES
    return ExitCode.RUNTIME if found["ended"] == "failed" else ExitCode.OK


def _named(what: str, cluster: RemoteCluster) -> dict[str, Any]:
    """Return name and configuration of a file, or of a connector of the cluster."""
    from hearth.client.connector_file import read_connector_file
    from hearth.client.selection import Selection

    if Path(what).is_file():
        file = read_connector_file(Path(what))
        return {"name": file.name, "config": file.config}
    (found,) = Selection((what,)).of(cluster.connectors())
    return {"name": found.name, "config": dict(found.config)}


def _here(worker_config: Path, request: Mapping[str, Any]) -> dict[str, Any]:
    """Make a preview in this process."""
    from hearth.cli.worker_file import plugin_path
    from hearth.cli.worker_option import read_any_worker
    from hearth.discovery import PluginScanner
    from hearth.discovery.trust import trust_of
    from hearth.herder.planner import Planner
    from hearth.herder.plugin.directory import PluginDirectory
    from hearth.herder.preview import Previews, parse_request
    from hearth.herder.worker_choice import GovernedVariables
    from hearth.isolation.environment_store import user_environments

    worker = read_any_worker(worker_config)
    trust = trust_of(worker.originals)
    scanner = PluginScanner(plugin_path(worker.plugin_path), admit=trust.admit)
    directory = PluginDirectory(scanner.look, user_environments(trust))
    with closing(GovernedVariables(worker, directory)) as variables:
        return Previews(Planner(directory, worker, variables=variables)).make(parse_request(request))


def _lines(file: IO[str]) -> Iterator[Any]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise ConfigError(f"{file.name}, line {number} is not JSON: {error}", code="preview.line") from error


def _shown(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield a record as lines: its first form and its bytes whole, else what each step changed."""
    yield f"record {record['n']}"
    for number, step in enumerate(record["steps"]):
        guard = "" if step["predicate"] is None else f", guarded by {step['predicate']}"
        error = f": {step['error']}" if step["error"] else ""
        yield f"  {step['step']}: {step['outcome']}{guard} ({step['micros']} us){error}"
        if step["outcome"] == "changed":
            yield from (f"    {each['path']}: {_text(each['from'])} → {_text(each['to'])}" for each in step["changes"])
        elif step["record"] is not None and (number == 0 or step["step"] == "convert"):
            shown = {name: each for name, each in step["record"].items() if each not in (None, [], {})}
            yield from (f"    {name}: {_text(each)}" for name, each in shown.items())


def _difference(records: list[Mapping[str, Any]], expected: list[Any]) -> str | None:
    """Return the first difference to what is expected; members that a line does not name are not compared."""
    last = [record["steps"][-1]["record"] for record in records]
    left = [each for each in last if each is not None]
    if len(left) != len(expected):
        return f"{len(left)} records are left, expected {len(expected)}"
    for number, (found, wanted) in enumerate(zip(left, expected), 1):
        for name, value in wanted.items():
            if found.get(name) != value:
                return f"record {number}: {name} is {_text(found.get(name))}, expected {_text(value)}"
    return None


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
