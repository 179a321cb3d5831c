"""Options and output of the commands that speak to a running cluster."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from hearth.cli.exit_code import ExitCode
from hearth.cli.json_option import json_option
from hearth.foundation.terminal import printable, table
from hearth_api import ConfigError, ConnectError

if TYPE_CHECKING:
    from hearth.client.remote_cluster import RemoteCluster
    from hearth.client.selection import Selection

C = TypeVar("C", bound=Any)

COMPLETION_SECONDS = 0.3
"""How long completion waits for a worker."""

name_option = click.option("-o", "output", type=click.Choice(["name"]), help="Print nothing but names, one a line.")


def context_options(command: C) -> C:
    """Add --context and --url."""
    context = click.option("--context", "context_name", metavar="NAME", shell_complete=_context_names,
                           help="Use this context; see `hearth context`.")  # fmt: skip
    url = click.option("--url", metavar="URL,…", help="Use the workers at these addresses, tried in turn.")
    return context(url(command))


def cluster_option(command: C) -> C:
    """Add --context and --url, and pass the cluster that they choose as `cluster`."""

    @context_options
    @functools.wraps(command)
    def wrapped(*args: Any, context_name: str | None, url: str | None, **kwargs: Any) -> Any:
        cluster = open_cluster(context_name, url)
        with closing(cluster.client):
            return command(*args, cluster=cluster, **kwargs)

    return wrapped  # type: ignore[return-value]


def output_options(command: C) -> C:
    """Add --json and -o name."""
    return json_option(name_option(command))


def open_cluster(context_name: str | None, url: str | None, timeout: float | None = None) -> RemoteCluster:
    """Return the cluster of a context or an address; nothing is sent yet."""
    from hearth.client.client_context import choose_context
    from hearth.client.remote_cluster import RemoteCluster
    from hearth.client.rest_client import TIMEOUT, RestClient

    return RemoteCluster(RestClient(choose_context(context_name, url), timeout or TIMEOUT))


def selecting(command: C) -> C:
    """Add NAME… and the options that select connectors, and pass them as `selection`."""

    @click.argument("names", metavar="[NAME]…", nargs=-1, shell_complete=connector_names)
    @click.option("--all", "is_all", is_flag=True, help="All connectors.")
    @click.option("--match", "pattern", metavar="REGEX", help="Connectors whose whole name matches.")
    @click.option("--state", metavar="STATE", help="Connectors in this state; FAILED also if only a task is.")
    @functools.wraps(command)
    def wrapped(*args: Any, names: tuple[str, ...], is_all: bool, pattern: str | None, state: str | None,
                **kwargs: Any) -> Any:  # fmt: skip
        from hearth.client.selection import Selection

        return command(*args, selection=Selection(names, is_all, pattern, state), **kwargs)

    return wrapped  # type: ignore[return-value]


def echo_items(items: Iterable[Mapping[str, Any]], errors: Iterable[Mapping[str, Any]] = (), **more: Any) -> None:
    """Print the document of --json: `{"items": […], "errors": […]}` and further members."""
    click.echo(json.dumps({"items": list(items), "errors": list(errors), **more}, indent=1))


def error_json(name: str, error: ConnectError) -> dict[str, Any]:
    """Return an error about one thing as --json shows it."""
    return {"name": name, "code": error.code, "message": str(error), "hint": error.hint}


def echo_table(head: Sequence[str], rows: Sequence[Sequence[str]], nothing: str) -> None:
    """Print a table, or a line that says there is nothing."""
    click.echo(table(head, rows) if rows else nothing)


def echo_names(names: Iterable[str]) -> None:
    """Print names for another program, one a line."""
    for name in names:
        click.echo(printable(name))


def confirm(question: str, thing: str, hint: str = "--yes") -> None:
    """Ask a question; raises ConfigError, which names the thing, where nobody can answer, and Abort for no."""
    if not sys.stdin.isatty():
        raise ConfigError(f"nobody is there to confirm {thing}", code="client.confirm", hint=hint)
    click.confirm(question, abort=True)


def for_each(
    selection: Selection,
    cluster: RemoteCluster,
    done: str,
    act: Callable[[str], str | None],
    as_json: bool = False,
    output: str | None = None,
) -> int:
    """Do something to each selected connector; return the exit code: 1 if one of them failed.

    ``act`` takes a name and may return words about the result. Prints a line for each connector, which begins with
    ``done``.
    """
    chosen = selection.of_named(cluster.connectors())
    items, errors = [], []
    for each in chosen:
        try:
            words = act(each.name) or ""
        except ConnectError as error:
            errors.append(error_json(each.name, error))
            if not as_json:
                click.echo(printable(f"error: {each.name}: {error}"), err=True)
            continue
        items.append({"name": each.name, "done": done, "detail": words})
        if output == "name":
            echo_names([each.name])
        elif not as_json:
            click.echo(printable(f"{done} {each.name}{f': {words}' if words else ''}"))
    if as_json:
        echo_items(items, errors)
    elif not chosen:
        click.echo("no connector matches", err=True)
    return ExitCode.RUNTIME if errors else ExitCode.OK


def connector_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a connector; completes nothing if no worker answers at once."""
    found: list[str] = []
    with suppress(ConnectError, OSError):
        given = context.params
        cluster = open_cluster(given.get("context_name"), given.get("url"), COMPLETION_SECONDS)
        with closing(cluster.client):
            found = cluster.names()
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def _context_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from hearth.client.client_context import ContextFile

    with suppress(ConnectError, OSError):
        return [CompletionItem(name) for name in ContextFile().contexts if name.startswith(incomplete)]
    return []
