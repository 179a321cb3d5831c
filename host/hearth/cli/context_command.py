"""`hearth context`: the clusters that the client knows by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from hearth.cli.client_option import echo_items, echo_names, echo_table, output_options
from hearth.foundation.terminal import printable
from hearth_api import ConfigError


@click.group()
def context() -> None:
    """Name clusters, and choose the one that commands use.

    Contexts are in contexts.json in ~/.config/hearth, or in HEARTH_HOME if that is set.
    """


@context.command(name="set")
@click.argument("name")
@click.option("--url", metavar="URL,…", help="Addresses of the cluster's workers, tried in turn.")
@click.option("--user", metavar="USER", help="User of HTTP basic authentication; '' for none.")
@click.option("--password-command", metavar="COMMAND", help="Shell command that prints the user's password.")
@click.option("--ca", metavar="FILE", help="PEM file of the authorities that sign the workers' certificates.")
@click.option("--certificate", metavar="FILE", help="PEM file of the client's certificate.")
@click.option("--key", metavar="FILE", help="PEM file of that certificate's key, if it is another file.")
@click.option("--header", "headers", metavar="NAME:VALUE", multiple=True, help="Header of every request.")
@click.option("--worker", metavar="FILE", help="A worker's properties file, for commands that talk to Kafka.")
def set_(name: str, url: str | None, headers: Sequence[str], **members: str | None) -> None:
    """Make context NAME, or change what the options name; the first context becomes the current one."""
    from dataclasses import replace

    from hearth.client.client_context import ClientContext, ContextFile, parse_urls

    file = ContextFile()
    changes: dict[str, Any] = {key: value or None for key, value in members.items() if value is not None}
    if url is not None:
        changes["urls"] = parse_urls(url)
    if headers:
        changes["headers"] = dict(_header(each) for each in headers)
    file.contexts[name] = replace(file.contexts.get(name, ClientContext()), **changes)
    file.current = file.current or name
    file.save()
    click.echo(printable(f"context {name} is {', '.join(file.contexts[name].urls)}"))


@context.command()
@click.argument("name")
def use(name: str) -> None:
    """Make NAME the current context."""
    from hearth.client.client_context import ContextFile

    file = ContextFile()
    file.find(name)
    file.current = name
    file.save()
    click.echo(printable(f"context {name} is the current one"))


@context.command(name="list")
@output_options
def list_(as_json: bool, output: str | None) -> None:
    """Print all contexts; the current one has a star."""
    from dataclasses import asdict

    from hearth.client.client_context import ContextFile

    file = ContextFile()
    found = sorted(file.contexts.items())
    if as_json:
        # The values of headers may be tokens.
        shown = [{**asdict(each), "headers": list(each.headers)} for _, each in found]
        echo_items({"name": name, "current": name == file.current, **each} for (name, _), each in zip(found, shown))
    elif output == "name":
        echo_names(name for name, _ in found)
    else:
        rows = [
            ("*" if name == file.current else "", name, ", ".join(each.urls), each.user or "-") for name, each in found
        ]
        echo_table(("", "NAME", "URL", "USER"), rows, "no contexts: commands use http://localhost:8083")


@context.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove context NAME."""
    from hearth.client.client_context import ContextFile

    file = ContextFile()
    file.find(name)
    del file.contexts[name]
    file.current = None if file.current == name else file.current
    file.save()
    click.echo(printable(f"context {name} is removed"))


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not text.isprintable():
        raise ConfigError(f"--header {text!r} is not NAME:VALUE", code="context.header", hint="--header 'X-Team: a'")
    return name.strip(), value.strip()
